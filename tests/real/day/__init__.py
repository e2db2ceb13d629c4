"""A day of a watched fleet in twenty minutes: `make test-day`."""
