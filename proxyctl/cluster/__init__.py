"""Members of a native ProxySQL Cluster: what travels between them, who follows whom. Pure."""
