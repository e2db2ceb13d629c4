"""The special sections, those that are more than a table: their values, and the rows they make."""
