-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET weight=1 WHERE hostgroup_id=20 AND hostname='db2' AND port=3306;
LOAD MYSQL SERVERS TO RUNTIME;
