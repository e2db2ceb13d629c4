-- apply would refuse: sharding: queries would go to servers without their data (guards.shard_moves)
--   fast routing: schema a_web@t2 would go from 32 to 31
--   fix: correct the rules, or move the data first; or allow it with --allow-shard-moves
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules_fast_routing SET destination_hostgroup=31 WHERE username='a_web' AND schemaname='t2' AND flagIN=0;
INSERT INTO mysql_query_rules_fast_routing (username, schemaname, flagIN, destination_hostgroup, comment) VALUES ('a_web','t3',0,32,'');
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
