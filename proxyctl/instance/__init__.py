"""One admin interface: connection, reading, facts, members of its cluster, lock, backends."""
