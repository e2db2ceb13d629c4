-- apply would refuse: hostgroup 20 (reader) is used by rules and would have 3 servers ONLINE, more than max_num_online_servers (2): ProxySQL would use none of them (guards.empty_hostgroup); allow with --force
-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (20,'db4',3306,0,'ONLINE',1,0,1000,0,0,0,'');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
