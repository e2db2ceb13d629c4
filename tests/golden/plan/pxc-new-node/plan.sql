-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET status='SHUNNED' WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc2',3306),(10,'pxc3',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (20,'pxc2',3306,0,'ONLINE',1,0,500,0,0,0,''),(30,'pxc2',3306,0,'ONLINE',1,0,500,0,0,0,''),(20,'pxc3',3306,0,'ONLINE',1,0,500,0,0,0,''),(30,'pxc3',3306,0,'ONLINE',1,0,500,0,0,0,''),(40,'pxc4',3306,0,'ONLINE',1,0,500,0,0,0,'');
LOAD MYSQL SERVERS TO RUNTIME;
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (20,'pxc2',3306),(30,'pxc2',3306),(20,'pxc3',3306),(30,'pxc3',3306),(40,'pxc4',3306));
UPDATE mysql_servers SET status='ONLINE' WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc2',3306),(10,'pxc3',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (10,'pxc4',3306,0,'ONLINE',1,0,500,0,0,0,'');
SAVE MYSQL SERVERS TO DISK;
