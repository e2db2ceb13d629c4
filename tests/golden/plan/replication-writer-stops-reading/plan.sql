-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (11,'db1',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
