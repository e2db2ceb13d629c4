"""What rows mean: values, passwords, families of servers, comparison, RUNTIME, SQL. Pure."""
