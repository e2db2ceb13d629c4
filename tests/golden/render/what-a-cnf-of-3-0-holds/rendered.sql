-- compiled from files. Nothing here looks at the instance first, keeps nodes where they are or
-- asks before it deletes: `proxyctl plan` and `apply` do.
DELETE FROM mysql_hostgroup_attributes;
INSERT INTO mysql_hostgroup_attributes (hostgroup_id, max_num_online_servers, autocommit, free_connections_pct, init_connect, multiplex, connection_warming, throttle_connections_per_sec, ignore_session_variables, hostgroup_settings, servers_defaults, comment) VALUES (84,1000000,-1,10,'a"b''c',0,0,1000000,'["it''s"]','{"handle_warnings":1}','','q"r''s');
DELETE FROM pgsql_servers WHERE (hostgroup_id, hostname, port) NOT IN (VALUES (1,'p',5433));
UPDATE pgsql_servers SET weight=1, compression=0, max_connections=1000, max_replication_lag=0, use_ssl=0, max_latency_ms=0, comment='' WHERE hostgroup_id=1 AND hostname='p' AND port=5433;
INSERT INTO pgsql_servers (hostgroup_id, hostname, port, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) SELECT 1,'p',5433,1,0,1000,0,0,0,'' WHERE NOT EXISTS (SELECT 1 FROM pgsql_servers WHERE hostgroup_id=1 AND hostname='p' AND port=5433);
DELETE FROM pgsql_query_rules;
INSERT INTO pgsql_query_rules (rule_id, active, username, database, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, log, apply, attributes, comment) VALUES (1,0,NULL,'shop',0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'',NULL);
LOAD MYSQL SERVERS TO RUNTIME;
LOAD PGSQL SERVERS TO RUNTIME;
LOAD PGSQL QUERY RULES TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE PGSQL SERVERS TO DISK;
SAVE PGSQL QUERY RULES TO DISK;
