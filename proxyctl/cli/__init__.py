"""The command line: options in, calls of the workflow, text out. The only package that prints."""
