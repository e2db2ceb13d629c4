-- apply would refuse: mysql_query_rules 500: row edited in MEMORY, not loaded to RUNTIME; not in the files; allow with --include-pending
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET destination_hostgroup=25 WHERE rule_id=20;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
