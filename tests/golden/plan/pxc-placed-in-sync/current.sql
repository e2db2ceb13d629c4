SET mysql-monitor_enabled='true';
LOAD MYSQL VARIABLES TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
INSERT INTO mysql_galera_hostgroups (writer_hostgroup, backup_writer_hostgroup, reader_hostgroup, offline_hostgroup, max_writers, writer_is_also_reader) VALUES (10, 20, 30, 40, 1, 2);
INSERT INTO mysql_servers (hostgroup_id, hostname, port, weight, max_connections) VALUES (10, 'pxc1', 3306, 1000, 500), (10, 'pxc2', 3306, 1, 500), (10, 'pxc3', 3306, 1, 500);
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
-- place 10 pxc1:3306;
