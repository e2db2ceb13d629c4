"""Rows, keys, layers and their SQL: the shapes of what files ask for and instances hold. Pure.

These shapes fit every table. What a value means to ProxySQL is in `proxysql`.
"""
