"""The digests that cost most: `digest top`."""
