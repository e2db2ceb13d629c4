"""One suite of statements, run on the sandbox and on a real ProxySQL."""
