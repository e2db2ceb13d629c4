"""Sandboxes and real servers: ProxySQL, MariaDB, Galera nodes and their monitor."""
