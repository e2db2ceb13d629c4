"""The servers behind ProxySQL as nodes: configured, at RUNTIME, and in their own words. Pure."""
