"""Digest statistics: what they say, and what would help. Pure."""
