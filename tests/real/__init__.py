"""Tests that need a real ProxySQL."""
