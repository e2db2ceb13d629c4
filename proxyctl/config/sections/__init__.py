"""The sections that are more than a table: what they mean, and the rows they make."""
