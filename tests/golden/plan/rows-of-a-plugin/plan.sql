-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (20,'db3',3306,0,'ONLINE',1,0,1000,0,0,0,'');
DELETE FROM mysql_query_rules WHERE rule_id IN (20);
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
-- no rule routes to the removed servers any more
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (20,'db2',3306));
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
