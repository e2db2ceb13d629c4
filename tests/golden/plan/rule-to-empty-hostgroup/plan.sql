-- apply would refuse: hostgroup 99 would be the destination of 1 rule (10) but has no server that can receive queries (guards.empty_hostgroup)
--   fix: add a server to it in the same apply, or choose another hostgroup; or allow it with --force
-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (10,1,'a_web',NULL,0,NULL,NULL,NULL,NULL,'^SELECT . FROM orders',NULL,0,'CASELESS',NULL,NULL,99,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1,'',NULL);
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
