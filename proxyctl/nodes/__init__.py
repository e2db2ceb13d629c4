"""The servers behind ProxySQL as nodes: list, drain, restore and discover."""
