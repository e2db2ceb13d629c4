"""The digests that cost most: what to list, and the list of an instance."""
