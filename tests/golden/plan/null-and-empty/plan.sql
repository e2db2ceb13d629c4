-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET comment='' WHERE rule_id=10;
UPDATE mysql_query_rules SET schemaname='', error_msg=NULL WHERE rule_id=20;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
