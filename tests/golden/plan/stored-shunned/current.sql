INSERT INTO mysql_servers (hostgroup_id, hostname, status) VALUES (10, 'db1', 'ONLINE'), (20, 'db2', 'SHUNNED'), (20, 'db3', 'ONLINE'), (30, 'db4', 'SHUNNED');
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (1, 1, '^SELECT', 10, 1);
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
-- shun 20 db3:3306;
