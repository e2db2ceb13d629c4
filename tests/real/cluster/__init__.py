"""Tests with three real ProxySQL in a native cluster."""
