"""The checks, one per file: code, severity, documentation with its examples, and the function."""
