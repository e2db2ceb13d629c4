"""The commands, a file a group of them. `cli/app.py` lists which function is behind which."""
