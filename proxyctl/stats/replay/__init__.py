"""The digests that an instance has seen, under the rules of files: `replay`."""
