"""Statistics: digests and the hits of rules, read, compared, listed, replayed."""
