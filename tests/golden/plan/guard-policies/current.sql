INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
INSERT INTO mysql_users (username, password, default_hostgroup, max_connections) VALUES ('same', 'sesame', 10, 700), ('worse', 'sesame', 10, 700), ('better', 'sesame', 10, 700);
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
