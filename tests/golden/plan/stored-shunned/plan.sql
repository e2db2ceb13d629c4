-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET status='ONLINE' WHERE (hostgroup_id, hostname, port) IN (VALUES (20,'db2',3306),(30,'db4',3306));
UPDATE mysql_query_rules SET destination_hostgroup=30 WHERE rule_id=1;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
