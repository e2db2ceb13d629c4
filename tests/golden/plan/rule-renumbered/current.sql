INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2');
INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 's3cret-of-app', 10);
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (10, 1, '^SELECT.*FOR UPDATE', 10, 1), (20, 1, '^SELECT', 20, 1);
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
