-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET max_replication_lag=30 WHERE hostgroup_id=20 AND hostname='db2' AND port=3306;
INSERT INTO mysql_hostgroup_attributes (hostgroup_id, max_num_online_servers, autocommit, free_connections_pct, init_connect, multiplex, connection_warming, throttle_connections_per_sec, ignore_session_variables, hostgroup_settings, servers_defaults, comment) VALUES (20,4,-1,10,'',1,0,1000000,'','','','read traffic');
UPDATE mysql_query_rules SET destination_hostgroup=10, mirror_hostgroup=20 WHERE rule_id=20;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
