-- apply would refuse: hostgroup 10 (writer) would have no ONLINE server until the monitor takes the new nodes out of hostgroup 40 (offline), but is a writer hostgroup and the default hostgroup of users (guards.empty_hostgroup)
--   fix: add the new nodes in one apply and remove the old ones in the next; or allow it with --force
-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc1',3306),(10,'pxc2',3306),(10,'pxc3',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (40,'pxc4',3306,0,'ONLINE',1000,0,500,0,0,0,''),(40,'pxc5',3306,0,'ONLINE',1,0,500,0,0,0,'');
LOAD MYSQL SERVERS TO RUNTIME;
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (40,'pxc4',3306),(40,'pxc5',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (10,'pxc4',3306,0,'ONLINE',1000,0,500,0,0,0,''),(10,'pxc5',3306,0,'ONLINE',1,0,500,0,0,0,'');
SAVE MYSQL SERVERS TO DISK;
