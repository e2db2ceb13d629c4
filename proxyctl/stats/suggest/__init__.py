"""`digest suggest`: proposes rules from the digests seen; a replay checks every proposed rule."""
