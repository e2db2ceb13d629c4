-- apply would refuse: MYSQL SERVERS, MYSQL QUERY RULES: 3 pending edits would be discarded; the files say otherwise
--   server db1:3306 in hostgroup 10: weight edited in MEMORY, not loaded to RUNTIME
--   rule 20: destination_hostgroup edited in MEMORY, not loaded to RUNTIME
--   rule 30: active edited in MEMORY, not loaded to RUNTIME
--   fix: ask who made them, and put into the files what is to stay; or allow it with --discard-pending
-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET weight=1 WHERE hostgroup_id=10 AND hostname='db1' AND port=3306;
DELETE FROM mysql_query_rules WHERE rule_id IN (30);
UPDATE mysql_query_rules SET destination_hostgroup=10 WHERE rule_id=20;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
