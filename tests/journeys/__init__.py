"""Stories through the command line, on the sandbox and on a real ProxySQL."""
