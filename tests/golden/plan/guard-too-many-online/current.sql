INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2'), (20, 'db3');
INSERT INTO mysql_hostgroup_attributes (hostgroup_id, max_num_online_servers) VALUES (20, 2);
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (10, 1, '^SELECT', 20, 1);
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
