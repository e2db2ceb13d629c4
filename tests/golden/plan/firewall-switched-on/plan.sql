-- apply would refuse: lint finds 1 error in the changes (guards.lint)
--   fix: correct it as its finding says; or allow it with --force
-- HOST:PORT: what apply would send, in order
UPDATE global_variables SET variable_value='true' WHERE variable_name='mysql-firewall_whitelist_enabled';
LOAD MYSQL VARIABLES TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
