-- compiled from files. Nothing here looks at the instance first, keeps nodes where they are or
-- asks before it deletes: `proxyctl plan` and `apply` do.
-- not written: mysql-monitor_password (secret)
-- this script holds no passwords and creates no users: put each password in place of
-- '***', and move its statement before LOAD MYSQL USERS or PGSQL USERS
-- INSERT INTO mysql_users (username, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment, password) SELECT 'batch',1,0,10,NULL,0,1,0,1,1,10000,'','','***' WHERE NOT EXISTS (SELECT 1 FROM mysql_users WHERE username='batch' AND backend=1);
UPDATE global_variables SET variable_value='1000' WHERE variable_name='mysql-long_query_time';
UPDATE global_variables SET variable_value='4096' WHERE variable_name='mysql-max_connections';
UPDATE global_variables SET variable_value='true' WHERE variable_name='mysql-multiplexing';
UPDATE global_variables SET variable_value='8.0.36' WHERE variable_name='mysql-server_version';
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) NOT IN (VALUES (10,'10.0.0.1',3306),(20,'10.0.0.2',3306));
UPDATE mysql_servers SET gtid_port=0, weight=1, compression=0, max_connections=1000, max_replication_lag=0, use_ssl=0, max_latency_ms=0, comment='it''s' WHERE hostgroup_id=10 AND hostname='10.0.0.1' AND port=3306;
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) SELECT 10,'10.0.0.1',3306,0,1,0,1000,0,0,0,'it''s' WHERE NOT EXISTS (SELECT 1 FROM mysql_servers WHERE hostgroup_id=10 AND hostname='10.0.0.1' AND port=3306);
UPDATE mysql_servers SET gtid_port=0, status='OFFLINE_SOFT', weight=5, compression=0, max_connections=1000, max_replication_lag=0, use_ssl=0, max_latency_ms=0, comment='' WHERE hostgroup_id=20 AND hostname='10.0.0.2' AND port=3306;
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) SELECT 20,'10.0.0.2',3306,0,'OFFLINE_SOFT',5,0,1000,0,0,0,'' WHERE NOT EXISTS (SELECT 1 FROM mysql_servers WHERE hostgroup_id=20 AND hostname='10.0.0.2' AND port=3306);
DELETE FROM mysql_query_rules;
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (1,1,NULL,NULL,0,NULL,NULL,NULL,NULL,'^SELECT \d+',NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,NULL,NULL,1,'',NULL),(2,0,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'','two'||char(10)||'lines, and a backslash '||char(92)||''),(3,1,NULL,NULL,2147483647,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'','proxyctl: keeps fast routing alive, matches nothing');
DELETE FROM mysql_query_rules_fast_routing;
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES ('u','s',0,1,'');
DELETE FROM mysql_users WHERE (username, backend) NOT IN (VALUES ('app',1),('batch',1));
UPDATE mysql_users SET password='*DDDBEE77886A6DB82F82DA2C4AB13E1C1D5F6A5C', active=1, use_ssl=0, default_hostgroup=10, default_schema=NULL, schema_locked=0, transaction_persistent=1, fast_forward=0, frontend=1, max_connections=10000, attributes='', comment='' WHERE username='app' AND backend=1;
INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment) SELECT 'app','*DDDBEE77886A6DB82F82DA2C4AB13E1C1D5F6A5C',1,0,10,NULL,0,1,0,1,1,10000,'','' WHERE NOT EXISTS (SELECT 1 FROM mysql_users WHERE username='app' AND backend=1);
UPDATE mysql_users SET active=1, use_ssl=0, default_hostgroup=10, default_schema=NULL, schema_locked=0, transaction_persistent=1, fast_forward=0, frontend=1, max_connections=10000, attributes='', comment='' WHERE username='batch' AND backend=1;
DELETE FROM scheduler;
UPDATE global_variables SET variable_value='2500' WHERE variable_name='admin-refresh_interval';
LOAD MYSQL VARIABLES TO RUNTIME;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
LOAD SCHEDULER TO RUNTIME;
LOAD ADMIN VARIABLES TO RUNTIME;
UPDATE global_variables SET variable_value='8' WHERE variable_name='mysql-threads';
SAVE MYSQL VARIABLES TO DISK;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
SAVE MYSQL USERS TO DISK;
SAVE SCHEDULER TO DISK;
SAVE ADMIN VARIABLES TO DISK;
