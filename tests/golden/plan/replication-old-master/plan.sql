-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (11,'db1',3306,0,'ONLINE',1000,0,1000,0,0,0,'');
LOAD MYSQL SERVERS TO RUNTIME;
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'db2',3306),(11,'db1',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (10,'db1',3306,0,'ONLINE',1000,0,1000,0,0,0,'');
SAVE MYSQL SERVERS TO DISK;
