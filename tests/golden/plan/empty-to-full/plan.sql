-- HOST:PORT: what apply would send, in order
UPDATE global_variables SET variable_value='4096' WHERE variable_name='mysql-max_connections';
UPDATE global_variables SET variable_value='8.0.36' WHERE variable_name='mysql-server_version';
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (10,'db1',3306,0,'ONLINE',1,0,500,0,0,0,''),(20,'db2',3306,0,'ONLINE',10,0,1000,0,0,0,'the small one');
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES (10,20,'read_only','main');
INSERT INTO mysql_hostgroup_attributes (hostgroup_id, max_num_online_servers, autocommit, free_connections_pct, init_connect, multiplex, connection_warming, throttle_connections_per_sec, ignore_session_variables, hostgroup_settings, servers_defaults, comment) VALUES (20,1000000,-1,10,'',0,0,1000000,'','','','');
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (10,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,'DISTINCT(.*)ORDER BY c',0,'CASELESS',NULL,'DISTINCT\1',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL),(20,1,NULL,NULL,0,NULL,NULL,NULL,NULL,'^SELECT.*FOR UPDATE',NULL,0,'CASELESS',NULL,NULL,10,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'',NULL),(30,1,NULL,NULL,0,NULL,NULL,NULL,NULL,'^SELECT',NULL,0,'CASELESS',NULL,NULL,20,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'',NULL),(31,1,NULL,NULL,2147483647,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'','proxyctl: keeps fast routing alive, matches nothing');
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES ('','s',3,20,''),('app','tenant_1',0,20,'');
-- MYSQL USERS is commented out: it would set a password or another secret to the mask ***
-- INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment) VALUES ('app','***',1,0,10,NULL,0,1,0,1,1,10000,'','');
INSERT INTO scheduler (id, active, interval_ms, filename, arg1, arg2, arg3, arg4, arg5, comment) VALUES (1,1,10000,'/usr/bin/check','--all',NULL,NULL,NULL,NULL,'');
INSERT INTO proxysql_servers (hostname, port, weight, comment) VALUES ('px2',6032,0,'');
LOAD MYSQL VARIABLES TO RUNTIME;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
-- LOAD MYSQL USERS TO RUNTIME;
LOAD SCHEDULER TO RUNTIME;
LOAD PROXYSQL SERVERS TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
-- SAVE MYSQL USERS TO DISK;
SAVE SCHEDULER TO DISK;
SAVE PROXYSQL SERVERS TO DISK;
