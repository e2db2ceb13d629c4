"""The whole output that a user sees, recorded."""
