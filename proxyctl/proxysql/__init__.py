"""What ProxySQL does with rows: cells, passwords, families, LOAD and comparison. Pure.

The shapes of rows are in `rows`, the tables and columns in `catalog`; where a query goes is in
`routing`.
"""
