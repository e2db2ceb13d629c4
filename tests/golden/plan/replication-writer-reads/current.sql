INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (11, 'db2');
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (10, 11);
SET mysql-monitor_enabled='true';
LOAD MYSQL VARIABLES TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
