-- apply would refuse: admin-admin_credentials: admin, the login in use, would be removed (guards.admin_access)
--   fix: allow it with --force
-- HOST:PORT: what apply would send, in order
-- ADMIN VARIABLES is commented out: it would set a password or another secret to the mask ***
-- UPDATE global_variables SET variable_value='***' WHERE variable_name='admin-admin_credentials';
-- UPDATE global_variables SET variable_value='10.0.0.1:6032' WHERE variable_name='admin-mysql_ifaces';
-- LOAD ADMIN VARIABLES TO RUNTIME;
-- SAVE ADMIN VARIABLES TO DISK;
warning: proxyctl.yaml holds a password in clear text, and every user of this machine can read it: chmod 600 proxyctl.yaml
