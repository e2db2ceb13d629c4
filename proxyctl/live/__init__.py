"""The live view's numbers: looks at the statistics, and what went on between two of them. Pure."""
