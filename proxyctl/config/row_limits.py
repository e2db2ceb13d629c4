"""What an integer column can hold. Apart from the models, which cost time to import."""

MAX_INT = 2_147_483_647
"""Largest integer in a column. ProxySQL reads columns as 32-bit numbers: 3000000000 becomes
negative, the row vanishes at RUNTIME, or the process aborts. Source: ProxySQL 2.7.1, run."""
