-- compiled from files. Nothing here looks at the instance first, keeps nodes where they are or
-- asks before it deletes: `proxyctl plan` and `apply` do.
-- this script holds no passwords and creates no users: put each password in place of
-- '***', and move its statement before LOAD MYSQL USERS or PGSQL USERS
-- INSERT INTO mysql_users (username, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment, password) SELECT 'app_1',1,0,0,NULL,0,1,0,1,1,10000,'','','***' WHERE NOT EXISTS (SELECT 1 FROM mysql_users WHERE username='app_1' AND backend=1);
-- INSERT INTO mysql_users (username, active, use_ssl, default_hostgroup, default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend, max_connections, attributes, comment, password) SELECT 'app_2',1,0,0,NULL,0,1,0,1,1,10000,'','','***' WHERE NOT EXISTS (SELECT 1 FROM mysql_users WHERE username='app_2' AND backend=1);
DELETE FROM mysql_users WHERE (username, backend) NOT IN (VALUES ('app_1',1),('app_2',1));
UPDATE mysql_users SET active=1, use_ssl=0, default_hostgroup=0, default_schema=NULL, schema_locked=0, transaction_persistent=1, fast_forward=0, frontend=1, max_connections=10000, attributes='', comment='' WHERE username='app_1' AND backend=1;
UPDATE mysql_users SET active=1, use_ssl=0, default_hostgroup=0, default_schema=NULL, schema_locked=0, transaction_persistent=1, fast_forward=0, frontend=1, max_connections=10000, attributes='', comment='' WHERE username='app_2' AND backend=1;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
