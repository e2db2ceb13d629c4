INSERT INTO mysql_servers (hostgroup_id, hostname, weight) VALUES (10, 'db1', 5);
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (20, 1, '^SELECT', 20, 1), (30, 1, '^SHOW', 20, 1);
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
UPDATE mysql_servers SET weight=9;
UPDATE mysql_query_rules SET destination_hostgroup=30 WHERE rule_id=20;
UPDATE mysql_query_rules SET active=0 WHERE rule_id=30;
