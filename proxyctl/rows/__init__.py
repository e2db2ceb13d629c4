"""Rows, keys, layers and their SQL: the shapes of what files ask for and instances hold. Pure."""
