"""A fleet that is watched: rounds of plans, what to do next at each instance, and metrics."""
