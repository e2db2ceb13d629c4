"""Rules and queries, with the routes of a real ProxySQL and of the evaluator."""
