-- HOST:PORT: what apply would send, in order; secrets are masked
UPDATE mysql_query_rules SET destination_hostgroup=20, comment=NULL WHERE rule_id=20;
