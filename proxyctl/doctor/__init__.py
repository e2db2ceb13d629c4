"""What is wrong with a running ProxySQL, found in what was read of it. Pure.

Each kind of trouble has a file; the code and the severity of a finding stand at the function that
finds it.
"""
