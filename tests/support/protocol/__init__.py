"""Clients, servers and a proxy that speak the MySQL protocol as a test wants it."""
