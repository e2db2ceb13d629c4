"""The documentation. Only `docs/reference` is generated; see `docs.generate`."""
