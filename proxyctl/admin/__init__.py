"""The instance: connect, read, lock, apply. The only package that talks to ProxySQL."""
