INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 's3cret-of-app', 10);
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS FROM RUNTIME;
SAVE MYSQL USERS TO DISK;
