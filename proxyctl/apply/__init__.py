"""A Plan on an instance: stage, LOAD, read back, SAVE, or restore."""
