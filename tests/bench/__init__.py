"""Speed and memory on a real ProxySQL, as ratios measured in one run."""
