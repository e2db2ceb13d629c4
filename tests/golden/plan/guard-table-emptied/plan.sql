-- apply would refuse: mysql_users: nothing would be left; 1 row would be deleted (guards.table_emptied)
--   fix: check that -f names every file; without its section a table is left alone; or allow it with --force
-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_users WHERE (username, backend) IN (VALUES ('app',1));
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
