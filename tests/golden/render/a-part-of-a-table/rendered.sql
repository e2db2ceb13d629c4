-- compiled from files. Nothing here looks at the instance first, keeps nodes where they are or
-- asks before it deletes: `proxyctl plan` and `apply` do.
-- this script holds no passwords and creates no users: put each password in place of
-- '***', and move its statement before LOAD MYSQL USERS or PGSQL USERS
-- INSERT INTO mysql_users (username, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment, password) SELECT 'app_2',1,0,0,NULL,0,1,0,1,1,10000,'','','***' WHERE NOT EXISTS (SELECT 1 FROM mysql_users WHERE username='app_2' AND backend=1);
DELETE FROM mysql_servers WHERE (hostgroup_id=10 OR hostgroup_id=11) AND hostname GLOB 'db?*' AND (hostgroup_id, hostname, port) NOT IN (VALUES (10,'db1',3306));
UPDATE mysql_servers SET gtid_port=0, compression=0, max_connections=1000, max_replication_lag=0, use_ssl=0, max_latency_ms=0 WHERE hostgroup_id=10 AND hostname='db1' AND port=3306;
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) SELECT 10,'db1',3306,0,5,0,1000,0,0,0,'' WHERE NOT EXISTS (SELECT 1 FROM mysql_servers WHERE hostgroup_id=10 AND hostname='db1' AND port=3306);
DELETE FROM mysql_query_rules WHERE (rule_id>=10 AND rule_id<=99 OR rule_id=500);
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (10,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL);
DELETE FROM mysql_users WHERE (username GLOB 'app_*' OR username='it''s') AND (username, backend) NOT IN (VALUES ('app_1',1),('app_2',1));
UPDATE mysql_users SET password='*58815970BE77B3720276F63DB198B1FA42E5CC02', active=1, use_ssl=0, default_hostgroup=0, default_schema=NULL, schema_locked=0, transaction_persistent=1, fast_forward=0, frontend=1, max_connections=10000, attributes='', comment='' WHERE username='app_1' AND backend=1;
INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment) SELECT 'app_1','*58815970BE77B3720276F63DB198B1FA42E5CC02',1,0,0,NULL,0,1,0,1,1,10000,'','' WHERE NOT EXISTS (SELECT 1 FROM mysql_users WHERE username='app_1' AND backend=1);
UPDATE mysql_users SET active=1, use_ssl=0, default_hostgroup=0, default_schema=NULL, schema_locked=0, transaction_persistent=1, fast_forward=0, frontend=1, max_connections=10000, attributes='', comment='' WHERE username='app_2' AND backend=1;
LOAD MYSQL VARIABLES TO RUNTIME;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
UPDATE global_variables SET variable_value='4' WHERE variable_name='mysql-threads';
SAVE MYSQL VARIABLES TO DISK;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
SAVE MYSQL USERS TO DISK;
