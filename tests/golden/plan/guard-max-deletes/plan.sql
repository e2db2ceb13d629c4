-- apply would refuse: mysql_query_rules: 7 of 12 rows would be deleted; the limit is 30 percent (guards.max_deletes)
--   fix: check that -f names every file, and that `manage` leaves out the rows of others; or allow it with --force
-- HOST:PORT: what apply would send, in order
DELETE FROM mysql_query_rules WHERE rule_id IN (6,7,8,9,10,11,12);
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
