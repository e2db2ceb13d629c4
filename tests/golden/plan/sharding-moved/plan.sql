-- apply would refuse: sharding: queries would go to servers without their data (guards.shard_moves)
--   sharding sbtest: tables sbtest2, sbtest4, sbtest6 would go from 100 to 101
--   sharding sbtest: tables sbtest1, sbtest3, sbtest5 would go from 101 to 100
--   fix: correct the rules, or move the data first; or allow it with --allow-shard-moves
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET destination_hostgroup=101 WHERE rule_id=1000;
UPDATE mysql_query_rules SET destination_hostgroup=100 WHERE rule_id=1001;
-- MYSQL USERS is commented out: it would set a password or another secret to the mask ***
-- UPDATE mysql_users SET password='***' WHERE username='app' AND backend=1;
LOAD MYSQL QUERY RULES TO RUNTIME;
-- LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
-- SAVE MYSQL USERS TO DISK;
