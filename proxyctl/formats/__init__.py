"""Rows as text and back: our own YAML, a SQL script, a proxysql.cnf. No server, no options."""
