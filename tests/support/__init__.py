"""Helpers that several test folders share, grouped by subject."""
