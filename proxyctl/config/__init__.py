"""Files -> Desired: reading, templates, models, compiling and every check that needs no server.

`project.load_project` is the entry. Nothing here knows an instance; plan and apply start from the
`Desired` that it returns.
"""
