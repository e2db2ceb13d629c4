-- apply would refuse: hostgroup 20 (reader) would have no ONLINE server, but is a destination of rules (guards.empty_hostgroup)
--   fix: keep a server in it, or send `mysql_query_rules` elsewhere in the same apply; or allow it with --force
-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (20,'db2',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
