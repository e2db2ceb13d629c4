-- apply would refuse: MYSQL QUERY RULES: 1 pending edit would be discarded; the files say otherwise
--   rule 20: destination_hostgroup edited in MEMORY, not loaded to RUNTIME
--   fix: ask who made it, and put into the files what is to stay; or allow it with --discard-pending
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET destination_hostgroup=25 WHERE rule_id=20;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
