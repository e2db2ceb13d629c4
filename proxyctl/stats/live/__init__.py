"""The live view of `top`: looks at the statistics, and what went on between two of them."""
