"""Replays the digests that an instance has seen under the rules of the files."""
