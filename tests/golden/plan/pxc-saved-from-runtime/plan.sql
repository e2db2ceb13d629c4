-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (20,'pxc2',3306),(30,'pxc2',3306),(20,'pxc3',3306),(30,'pxc3',3306));
SAVE MYSQL SERVERS TO DISK;
