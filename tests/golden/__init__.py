"""What a user sees, recorded whole."""
