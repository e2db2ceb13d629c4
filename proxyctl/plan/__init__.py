"""From desired rows and an instance to a Plan. `inspect` reads, `make` is pure."""
