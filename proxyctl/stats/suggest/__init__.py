"""What would help, from what was seen: `digest suggest`. Nothing is proposed without a replay."""
