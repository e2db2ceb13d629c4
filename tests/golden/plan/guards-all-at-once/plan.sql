-- apply would refuse: mysql_users: nothing would be left; 2 rows would be deleted (guards.table_emptied)
--   fix: check that -f names every file; without its section a table is left alone; or allow it with --force
-- apply would refuse: hostgroup 10 would have no ONLINE server, but is a writer hostgroup (guards.empty_hostgroup)
--   fix: keep a server in it, or delete it together with its family; or allow it with --force
-- apply would refuse: admin-admin_credentials: admin, the login in use, would be removed (guards.admin_access)
--   fix: keep admin as it is, or apply as a login that stays (--user); or allow it with --force
-- apply would refuse: mysql-monitor_password would become empty: the monitor could not check any server that requires it (guards.monitor_credentials)
--   fix: set mysql-monitor_password in the files, or correct the reference that is empty; or allow it with --force
-- HOST:PORT: what apply would send, in order
-- MYSQL VARIABLES is commented out: it would set a password or another secret to the mask ***
-- UPDATE global_variables SET variable_value='***' WHERE variable_name='mysql-monitor_password';
DELETE FROM mysql_query_rules WHERE rule_id IN (10,20);
INSERT INTO mysql_query_rules (rule_id, active, username, schemaname, flagIN, client_addr, proxy_addr, proxy_port, digest, match_digest, match_pattern, negate_match_pattern, re_modifiers, flagOUT, replace_pattern, destination_hostgroup, cache_ttl, cache_empty_result, cache_timeout, reconnect, timeout, retries, delay, next_query_flagIN, mirror_flagOUT, mirror_hostgroup, error_msg, OK_msg, sticky_conn, multiplex, gtid_from_hostgroup, log, apply, attributes, comment) VALUES (1,1,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,0,'CASELESS',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'',NULL,NULL,NULL,NULL,0,'',NULL);
DELETE FROM mysql_users WHERE (username, backend) IN (VALUES ('app',1),('batch',1));
-- ADMIN VARIABLES is commented out: it would set a password or another secret to the mask ***
-- UPDATE global_variables SET variable_value='***' WHERE variable_name='admin-admin_credentials';
-- LOAD MYSQL VARIABLES TO RUNTIME;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
-- no rule routes to the removed servers any more
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'db1',3306));
LOAD MYSQL SERVERS TO RUNTIME;
-- LOAD ADMIN VARIABLES TO RUNTIME;
-- SAVE MYSQL VARIABLES TO DISK;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
SAVE MYSQL USERS TO DISK;
-- SAVE ADMIN VARIABLES TO DISK;
