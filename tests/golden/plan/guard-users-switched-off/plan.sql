-- apply would refuse: mysql_users: nobody could log in (2 users can now) (guards.table_emptied)
--   fix: keep a user with `active` and `frontend` true; or allow it with --force
-- HOST:PORT: what apply would send, in order
UPDATE mysql_users SET active=0 WHERE (username, backend) IN (VALUES ('app',1),('batch',1));
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
