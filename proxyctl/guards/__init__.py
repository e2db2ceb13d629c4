"""Guards: transitions that are too dangerous to happen without being asked for. Pure.

A guard judges what an apply would change, never a state: a hostgroup that always was empty is no
transition. Each refusal names the way to allow it.
"""
