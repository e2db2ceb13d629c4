-- apply would refuse: hostgroup 10 (writer) would have no ONLINE server, but is a writer hostgroup, the default hostgroup of users and a destination of rules (guards.empty_hostgroup)
--   fix: keep a server in it, or delete it together with its family, after an apply that sends `mysql_query_rules` and `mysql_users` elsewhere; or allow it with --force
-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'db1',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
