INSERT INTO mysql_servers(hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2'), (31, 's1'), (32, 's2');
INSERT INTO mysql_users(username, password, default_hostgroup) VALUES ('app', 'x', 10);
INSERT INTO mysql_query_rules(rule_id, active, match_digest, re_modifiers, destination_hostgroup, apply, comment)
  VALUES (100, 1, '(^|[^0-9A-Za-z_$])orders[24]($|[^0-9A-Za-z_$])', 'CASELESS', 31, 1, 'sharding orders: orders2, orders4'),
  (101, 1, '(^|[^0-9A-Za-z_$])orders[13]($|[^0-9A-Za-z_$])', 'CASELESS', 32, 1, 'sharding orders: orders1, orders3');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
