-- HOST:PORT: what apply would send, in order; secrets are masked
DELETE FROM mysql_users WHERE (username, backend) IN (VALUES ('app',0));
UPDATE mysql_users SET default_hostgroup=20, default_schema=NULL, frontend=1 WHERE username='app' AND backend=1;
INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment) VALUES ('batch','***',1,0,0,NULL,0,1,0,0,1,10000,'',''),('batch','***',1,0,0,NULL,0,1,0,1,0,10000,'','');
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
