-- HOST:PORT: what apply would send, in order
-- MYSQL VARIABLES is commented out: it would set a password or another secret to the mask ***
-- UPDATE global_variables SET variable_value='***' WHERE variable_name='mysql-monitor_password';
-- UPDATE global_variables SET variable_value='8.0.36' WHERE variable_name='mysql-server_version';
-- UPDATE global_variables SET variable_value='2097152' WHERE variable_name='mysql-stacksize';
-- UPDATE global_variables SET variable_value='true' WHERE variable_name='mysql-verbose_query_error';
UPDATE global_variables SET variable_value='5000' WHERE variable_name='admin-refresh_interval';
-- LOAD MYSQL VARIABLES TO RUNTIME;
LOAD ADMIN VARIABLES TO RUNTIME;
-- UPDATE global_variables SET variable_value='8' WHERE variable_name='mysql-threads';
-- SAVE MYSQL VARIABLES TO DISK;
SAVE ADMIN VARIABLES TO DISK;
