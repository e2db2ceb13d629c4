"""Snapshots: what an instance held before an apply, kept in a file, and the way back to it.

`snapshot` is what a snapshot says, `file` the text of its file, `folder` where the files are,
`taking` how one is taken, `rollback` the plan that goes back to one.
"""
