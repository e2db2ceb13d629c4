"""The tests of proxyctl."""
