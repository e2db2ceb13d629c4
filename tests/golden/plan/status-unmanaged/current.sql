INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2');
UPDATE mysql_servers SET status='OFFLINE_SOFT' WHERE hostname='db2';
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
