"""Checks for configurations that ProxySQL accepts but that do not work as they seem to.

A check's code, severity and documentation are at the function that finds it.
"""
