"""Instances that one command means: their plans, in what order they change, what became of each.

One instance is a fleet of one. Values are returned, and nothing is printed.
"""
