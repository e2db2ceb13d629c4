"""Whether a change does harm: counters before and after an apply, and the rollback if it does."""
