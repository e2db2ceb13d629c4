"""The command line: options in, one workflow call, text out. The only package that prints."""
