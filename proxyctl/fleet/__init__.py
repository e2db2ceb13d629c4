"""Many instances: what became of each, which of them are alike, and in what order they change.

Pure. The plans are made and carried out by `fleet_planning` and `fleet_applying`.
"""
