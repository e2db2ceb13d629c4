-- HOST:PORT: what apply would send, in order; secrets are masked
DELETE FROM mysql_users WHERE (username, backend) IN (VALUES ('app',1));
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
