"""Two digest tables compared: `digest diff`."""
