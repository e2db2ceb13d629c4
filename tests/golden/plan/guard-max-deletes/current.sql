INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup, apply) VALUES (1, 1, '^Q1', 10, 1), (2, 1, '^Q2', 10, 1), (3, 1, '^Q3', 10, 1), (4, 1, '^Q4', 10, 1), (5, 1, '^Q5', 10, 1), (6, 1, '^Q6', 10, 1), (7, 1, '^Q7', 10, 1), (8, 1, '^Q8', 10, 1), (9, 1, '^Q9', 10, 1), (10, 1, '^Q10', 10, 1), (11, 1, '^Q11', 10, 1), (12, 1, '^Q12', 10, 1);
LOAD MYSQL QUERY RULES TO RUNTIME;
SAVE MYSQL QUERY RULES TO DISK;
