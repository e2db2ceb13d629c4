-- HOST:PORT: what apply would send, in order
UPDATE global_variables SET variable_value='2' WHERE variable_name='mysql-query_processor_regex';
LOAD MYSQL VARIABLES TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
