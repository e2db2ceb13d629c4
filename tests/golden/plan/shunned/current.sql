INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
-- shun 20 db2:3306;
