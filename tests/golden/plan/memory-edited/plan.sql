-- apply would refuse: mysql_query_rules 20: destination_hostgroup, comment edited in MEMORY, not loaded to RUNTIME; the files say otherwise; allow with --discard-pending
-- HOST:PORT: what apply would send, in order
UPDATE mysql_query_rules SET destination_hostgroup=20, comment=NULL WHERE rule_id=20;
