"""Configurations that ProxySQL takes, and that cannot do what they seem to.

Each check has a code, a severity and its documentation in one place: the function that finds it.
"""
