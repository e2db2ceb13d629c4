-- apply would refuse: hostgroup 25 would be the destination of 1 rule (20) but has no server that can receive queries (guards.empty_hostgroup)
--   fix: add a server to it in the same apply, or choose another hostgroup; or allow it with --force
-- apply would refuse: lint finds 2 errors in the changes (guards.lint)
--   fix: correct them as their findings say; or allow it with --force
-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (20,1,NULL,NULL,0,NULL,NULL,NULL,NULL,'^SELECT',NULL,0,'CASELESS',NULL,NULL,25,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'',NULL);
-- MYSQL USERS is commented out: it would set a password or another secret to the mask ***
-- INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment) VALUES ('app','***',1,0,10,NULL,0,1,0,1,1,10000,'','');
LOAD MYSQL QUERY RULES TO RUNTIME;
-- LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
-- SAVE MYSQL USERS TO DISK;
