"""What queries that a ProxySQL has seen would meet under other rules."""
