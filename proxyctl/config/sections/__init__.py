"""The sections that are more than a table, one a file: what they mean, and the rows they make."""
