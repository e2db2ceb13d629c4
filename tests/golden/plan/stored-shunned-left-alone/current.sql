INSERT INTO mysql_servers (hostgroup_id, hostname, status) VALUES (10, 'db1', 'ONLINE'), (20, 'db2', 'SHUNNED'), (20, 'db3', 'OFFLINE_SOFT');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
