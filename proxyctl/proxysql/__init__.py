"""What ProxySQL does with rows: cells, passwords, families, LOAD and comparison. Pure."""
