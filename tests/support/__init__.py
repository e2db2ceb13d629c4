"""What tests stand on: servers, clients, builders of rows, recorded answers."""
