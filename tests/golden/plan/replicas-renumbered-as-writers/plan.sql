-- apply would refuse: replication family 10 would get different hostgroups in one LOAD: until the monitor's next check hostgroup 110 would have db1:3306, db2:3306, db3:3306 instead of db1:3306, and hostgroup 120 would have no server (guards.empty_hostgroup)
--   fix: add a new family beside the old one, then point users and rules to it, then remove the old one, in three applies: docs/how-to/renumber-hostgroups.md; or allow it with --force
-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (110,'db1',3306,0,'ONLINE',1,0,1000,0,0,0,''),(110,'db2',3306,0,'ONLINE',1,0,1000,0,0,0,''),(110,'db3',3306,0,'ONLINE',1,0,1000,0,0,0,'');
DELETE FROM mysql_replication_hostgroups WHERE writer_hostgroup IN (10);
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES (110,120,'read_only','');
UPDATE mysql_query_rules SET destination_hostgroup=110 WHERE rule_id=10;
UPDATE mysql_query_rules SET destination_hostgroup=120 WHERE rule_id=20;
UPDATE mysql_users SET default_hostgroup=110 WHERE username='app' AND backend=1;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
-- no rule routes to the removed servers any more
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'db1',3306),(20,'db2',3306),(20,'db3',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
SAVE MYSQL USERS TO DISK;
