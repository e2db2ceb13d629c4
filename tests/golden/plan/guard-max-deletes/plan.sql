-- HOST:PORT: what apply would send, in order; secrets are masked
DELETE FROM mysql_query_rules WHERE rule_id IN (6,7,8,9,10,11,12);
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
