"""Fuzzing: whatever is read, the answer is a value or a ProxyctlError, soon and in little memory.

`targets.TARGETS` says what is fuzzed, `python -m tests.fuzz` runs it for long, and
`test_targets.py` for a moment with every other test.
"""
