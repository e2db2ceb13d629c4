-- apply would refuse: rule 30 matches every query and answers it with error_msg: only queries that an earlier rule takes (10, 20) would reach a server (guards.blocks_everything); allow with --force
-- HOST:PORT: what apply would send, in order
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (30,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'closed for the night',NULL,NULL,NULL,NULL,NULL,0,'',NULL);
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
