"""Statistics: reads, lists, compares and replays digests, and reads the hits of rules."""
