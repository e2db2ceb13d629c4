UPDATE global_variables SET variable_value='true' WHERE variable_name='mysql-monitor_enabled';
LOAD MYSQL VARIABLES TO RUNTIME;
SAVE MYSQL VARIABLES TO DISK;
INSERT INTO mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup) VALUES (10, 20);
INSERT INTO mysql_servers (hostgroup_id, hostname, status) VALUES (10, 'db1', 'SHUNNED'), (20, 'db2', 'SHUNNED');
LOAD MYSQL SERVERS TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
