"""Files -> Desired: reading, templates, models, compiling and every check that needs no server.

`project.load_project` is the way in. Nothing here knows an instance; plan and apply start from the
`Desired` that comes out.
"""
