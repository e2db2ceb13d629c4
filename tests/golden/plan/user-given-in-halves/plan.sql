-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_users WHERE (username, backend) IN (VALUES ('app',0));
UPDATE mysql_users SET default_schema=NULL, frontend=1 WHERE username='app' AND backend=1;
SAVE MYSQL USERS TO DISK;
