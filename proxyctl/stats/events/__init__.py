"""The query event log: its events, their percentiles, and the groups that cost most."""
