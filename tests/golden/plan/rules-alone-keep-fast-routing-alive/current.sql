INSERT INTO mysql_servers(hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2'), (31, 's1'), (32, 's2');
INSERT INTO mysql_users(username, password, default_hostgroup) VALUES ('a_web', 'x', 10);
INSERT INTO mysql_query_rules(rule_id, active, username, match_digest, destination_hostgroup, apply)
  VALUES (1000, 1, 'a_web', '^SELECT.*FOR UPDATE', 10, 1);
INSERT INTO mysql_query_rules(rule_id, active, flagIN, apply, comment)
  VALUES (1001, 1, 2147483647, 0, 'proxyctl: keeps fast routing alive, matches nothing');
INSERT INTO mysql_query_rules_fast_routing(username, schemaname, flagIN, destination_hostgroup, comment)
  VALUES ('a_web', 't1', 0, 31, ''), ('a_web', 't2', 0, 32, '');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
