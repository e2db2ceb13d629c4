-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET weight=5 WHERE hostgroup_id=10 AND hostname='db1' AND port=3306;
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
