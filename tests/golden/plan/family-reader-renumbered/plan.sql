-- apply would refuse: Galera family 10 would get different hostgroups in one LOAD: until the monitor's next check hostgroup 212 would have no server (guards.empty_hostgroup)
--   fix: add a new family beside the old one, then point users and rules to it, then remove the old one, in three applies: docs/how-to/renumber-hostgroups.md; or allow it with --force
-- HOST:PORT: what apply would send, in order
UPDATE mysql_servers SET status='SHUNNED' WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc2',3306),(10,'pxc3',3306));
INSERT INTO mysql_servers (hostgroup_id, hostname, port, gtid_port, status, weight, compression, max_connections, max_replication_lag, use_ssl, max_latency_ms, comment) VALUES (12,'pxc2',3306,0,'ONLINE',1,0,1000,0,0,0,''),(12,'pxc3',3306,0,'ONLINE',1,0,1000,0,0,0,''),(11,'pxc2',3306,0,'ONLINE',1,0,1000,0,0,0,''),(11,'pxc3',3306,0,'ONLINE',1,0,1000,0,0,0,'');
UPDATE mysql_galera_hostgroups SET reader_hostgroup=212 WHERE writer_hostgroup=10;
UPDATE mysql_query_rules SET destination_hostgroup=212 WHERE rule_id=20;
LOAD MYSQL SERVERS TO RUNTIME;
LOAD MYSQL QUERY RULES TO RUNTIME;
-- no rule routes to the removed servers any more
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (12,'pxc2',3306),(12,'pxc3',3306));
LOAD MYSQL SERVERS TO RUNTIME;
DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port) IN (VALUES (11,'pxc2',3306),(11,'pxc3',3306));
UPDATE mysql_servers SET status='ONLINE' WHERE (hostgroup_id, hostname, port) IN (VALUES (10,'pxc2',3306),(10,'pxc3',3306));
SAVE MYSQL SERVERS TO DISK;
SAVE MYSQL QUERY RULES TO DISK;
