INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
INSERT INTO mysql_users (username, password, default_hostgroup, max_connections) VALUES ('more', 'sesame', 10, 100), ('gone', 'sesame', 10, 100);
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
