-- apply would refuse: MYSQL QUERY RULES: 1 pending edit not in the files
--   rule 500: row added in MEMORY, not loaded to RUNTIME
--   publish:    LOAD MYSQL QUERY RULES TO RUNTIME; SAVE MYSQL QUERY RULES TO DISK;
--   take back:  LOAD MYSQL QUERY RULES FROM DISK;
--   fix: publish it, or take it back, with these statements
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET destination_hostgroup=25 WHERE rule_id=20;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
