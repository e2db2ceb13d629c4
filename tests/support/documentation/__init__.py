"""The pages of the documentation: what is in them, and a shell that runs them."""
