-- apply would refuse: hostgroup 11 would be the default hostgroup of 1 user (app) but has no server that can receive queries (guards.empty_hostgroup)
--   fix: add a server to it in the same apply, or choose another hostgroup; or allow it with --force
-- HOST:PORT: what apply would send, in order
UPDATE mysql_users SET default_hostgroup=11 WHERE username='app' AND backend=1;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
