"""Snapshots: the state of an instance before an apply, in a file, and the rollback to it.

`snapshot` has the data, `file` its text, `folder` the place of the files, `taking` writes one, and
`rollback` plans the way back.
"""
