"""Plan and apply over many instances: their plans, the order of changes, and the outcomes.

One instance is a fleet of one. Nothing here prints.
"""
