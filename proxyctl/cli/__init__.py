"""The command line: options in, calls into the packages below, text out.

The only package that prints.
"""
