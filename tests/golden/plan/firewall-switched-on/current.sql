INSERT INTO mysql_users (username, password, default_hostgroup) VALUES ('app', 'x', 10), ('web', 'y', 10), ('etl', 'z', 10);
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL USERS TO DISK;
INSERT INTO mysql_firewall_whitelist_users (active, username, client_address, mode, comment) VALUES (1, 'app', '', 'OFF', ''), (1, 'etl', '10.%', 'OFF', '');
LOAD MYSQL FIREWALL TO RUNTIME;
SAVE MYSQL FIREWALL TO DISK;
