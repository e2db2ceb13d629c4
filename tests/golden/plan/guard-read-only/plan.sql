-- apply would refuse: admin-read_only: after its LOAD proxyctl could neither SAVE nor undo it
--   fix: leave it out of the files, and send PROXYSQL READONLY by hand
-- HOST:PORT: what apply would send, in order
UPDATE global_variables SET variable_value='true' WHERE variable_name='admin-read_only';
LOAD ADMIN VARIABLES TO RUNTIME;
SAVE ADMIN VARIABLES TO DISK;
