-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET status='ONLINE' WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'db1',3306),(20,'db2',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
