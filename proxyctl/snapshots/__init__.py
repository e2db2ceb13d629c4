"""Snapshots: files with the state of an instance before an apply, and the rollback to that state.

`snapshot` defines the data and the text of a file, `folder` manages the files, and `rollback` plans
the return.
"""
