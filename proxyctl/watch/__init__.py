"""`proxyctl watch`: rounds of plans of a fleet, what to do next at each instance, and metrics."""
