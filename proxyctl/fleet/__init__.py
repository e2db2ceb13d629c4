"""Plan and apply over many instances: their plans, the order of changes, the outcome of each.

One instance is a fleet of one. Values are returned, and nothing is printed.
"""
