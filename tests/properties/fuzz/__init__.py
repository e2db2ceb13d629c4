"""Fuzzing: each reader returns a value or raises ProxyctlError, soon and in little memory.

`readers.TARGETS` lists the readers. `python -m tests.properties.fuzz` fuzzes them for long, and
`test_targets.py` for a moment with every other test.
"""
