-- apply would refuse: hostgroup 212 would be the destination of 1 rule (20) but has no server that can receive queries (guards.empty_hostgroup)
--   fix: apply the servers first, and this once `proxyctl nodes list` shows a server in it; or allow it with --force
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET destination_hostgroup=210 WHERE rule_id=10;
UPDATE mysql_query_rules SET destination_hostgroup=212 WHERE rule_id=20;
UPDATE mysql_users SET default_hostgroup=210 WHERE username='app' AND backend=1;
LOAD MYSQL QUERY RULES TO RUNTIME;
LOAD MYSQL USERS TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
SAVE MYSQL USERS TO DISK;
