"""The checks, one a file: code, severity, documentation with its examples, and the function."""
