-- apply would refuse: MYSQL SERVERS: 2 pending edits would be discarded; the files say otherwise
--   server db2:3306 in hostgroup 10: row deleted in MEMORY, not loaded to RUNTIME
--   server db1:3306 in hostgroup 10: weight edited in MEMORY, not loaded to RUNTIME
--   fix: ask who made them, and put into the files what is to stay; or allow it with --discard-pending
-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET weight=3 WHERE hostgroup_id=10 AND hostname='db1' AND port=3306;
UPDATE mysql_servers SET status='ONLINE' WHERE hostgroup_id=20 AND hostname='db4' AND port=3306;
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (10,'db2',3306,0,'ONLINE',3,0,1000,0,0,0,'');
UPDATE mysql_query_rules SET active=1 WHERE rule_id=1;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
