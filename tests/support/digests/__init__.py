"""Queries and their digests: random, recorded from a real ProxySQL, or invented."""
