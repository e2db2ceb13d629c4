"""Files -> Desired: reading, templates, models, compiling and every check that needs no server.

`files.ConfigFiles` is the entry. Nothing here knows an instance; plan and apply start from the
`desired` rows of the `Project` that it returns.
"""
