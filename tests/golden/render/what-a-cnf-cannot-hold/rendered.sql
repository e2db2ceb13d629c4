-- compiled from files. Nothing here looks at the instance first, keeps nodes where they are or
-- asks before it deletes: `proxyctl plan` and `apply` do.
-- not written: mysql-monitor_password (secret)
UPDATE global_variables SET variable_value='SET x="y"' WHERE variable_name='mysql-init_connect';
DELETE FROM mysql_replication_hostgroups;
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, check_type, comment) VALUES (11,12,'read_only|innodb_read_only','');
DELETE FROM mysql_galera_hostgroups;
INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, active, max_writers, writer_is_also_reader, max_transactions_behind, comment) VALUES (1,2,3,4,0,1,0,0,NULL);
DELETE FROM mysql_hostgroup_attributes;
INSERT INTO mysql_hostgroup_attributes (hostgroup_id, max_num_online_servers, autocommit, free_connections_pct, init_connect, multiplex, connection_warming, throttle_connections_per_sec, ignore_session_variables, hostgroup_settings, servers_defaults, comment) VALUES (84,1000000,-1,10,'',0,0,1000000,'','','','q"r''s');
DELETE FROM mysql_query_rules;
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (1,1,NULL,NULL,0,NULL,NULL,NULL,NULL,'a"b',NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL),(2,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'','it''s'),(4,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'',NULL),(5,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,'{"a":"it''s"}',NULL);
DELETE FROM mysql_query_rules_fast_routing;
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES ('u','s',0,1,'');
DELETE FROM mysql_firewall_whitelist_users;
DELETE FROM mysql_users;
INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment) VALUES ('a','*0B1F54AED474B0B0CC084368413841B4FF0A3ACB',1,0,0,NULL,0,1,0,1,1,10000,'',''),('b','*B69027D44F6E5EDC07F1AEAD1477967B16F28227',1,0,0,NULL,0,1,0,1,0,10000,'','');
DELETE FROM scheduler;
INSERT INTO scheduler (id, active, interval_ms, filename, arg1, arg2, arg3, arg4, arg5, comment) VALUES (1,1,100,'/x','it''s',NULL,NULL,NULL,NULL,'');
LOAD MYSQL VARIABLES TO RUNTIME;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
LOAD MYSQL FIREWALL TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
LOAD SCHEDULER TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
SAVE MYSQL FIREWALL TO DISK;
SAVE MYSQL USERS TO DISK;
SAVE SCHEDULER TO DISK;
