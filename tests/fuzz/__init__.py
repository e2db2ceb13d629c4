"""Fuzzing: each reader returns a value or raises ProxyctlError, soon and in little memory.

`targets.TARGETS` lists the readers, `python -m tests.fuzz` fuzzes them for long, and
`test_targets.py` for a moment with every other test.
"""
