"""Export and import: RUNTIME or files -> YAML, SQL and .cnf; a .cnf or accounts -> YAML."""
