"""proxyctl's command line: in the process of a test, forked, on a terminal, or measured."""
