"""Support of the tests: servers, clients, builders of rows, recorded answers."""
