"""Snapshots: the state of an instance before an apply, in a file, and the rollback to it.

`snapshot` has the data and the text of its file, `folder` the files, and `rollback` plans the way
back.
"""
