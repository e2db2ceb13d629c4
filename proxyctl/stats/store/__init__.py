"""The history of digests: one SQLite file with what instances counted, by time."""
