-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET max_connections=50 WHERE hostgroup_id=20 AND hostname='db2' AND port=3306;
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (20,'db3',3306,0,'ONLINE',7,0,1000,0,0,0,'');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
