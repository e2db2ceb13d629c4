-- apply would refuse: Galera family 10 would get different hostgroups in one LOAD: until the monitor's next check hostgroup 210 would have pxc1:3306, pxc2:3306, pxc3:3306 instead of pxc1:3306 (guards.empty_hostgroup)
--   fix: add a new family beside the old one, then point users and rules to it, then remove the old one, in three applies: docs/how-to/renumber-hostgroups.md; or allow it with --force
-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET status='SHUNNED' WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc2',3306),(10,'pxc3',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (210,'pxc1',3306,0,'ONLINE',1,0,1000,0,0,0,''),(210,'pxc2',3306,0,'ONLINE',1,0,1000,0,0,0,''),(210,'pxc3',3306,0,'ONLINE',1,0,1000,0,0,0,'');
DELETE FROM mysql_galera_hostgroups WHERE writer_hostgroup IN (10);
INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, active, max_writers, writer_is_also_reader, max_transactions_behind, comment) VALUES (210,211,212,213,1,1,2,0,NULL);
UPDATE mysql_users SET default_hostgroup=210 WHERE username='app' AND backend=1;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
-- no rule routes to the removed servers any more
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc1',3306),(10,'pxc2',3306),(10,'pxc3',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL USERS TO DISK;
