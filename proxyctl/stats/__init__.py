"""Reads the statistics of an instance."""
