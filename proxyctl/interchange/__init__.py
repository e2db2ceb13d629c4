"""Export and import: rows as YAML, as a SQL script, as a proxysql.cnf, and back from it."""
