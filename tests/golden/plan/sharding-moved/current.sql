INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (100, 'db-shard0'), (101, 'db-shard1');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply, comment) VALUES (1000, 1, '(^|[^0-9A-Za-z_$])sbtest[246]($|[^0-9A-Za-z_$])', 100, 1, 'sharding sbtest: sbtest2, sbtest4, sbtest6'), (1001, 1, '(^|[^0-9A-Za-z_$])sbtest[135]($|[^0-9A-Za-z_$])', 101, 1, 'sharding sbtest: sbtest1, sbtest3, sbtest5');
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 100);
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
