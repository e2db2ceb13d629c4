-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_users WHERE (username, backend) IN (VALUES ('app',1),('batch',1));
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
