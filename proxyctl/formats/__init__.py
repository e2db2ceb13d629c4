"""Rows as YAML, as a SQL script, and as a proxysql.cnf, which is read, too."""
