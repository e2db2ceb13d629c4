"""`apply --watch`: whether a change does harm, by counters before and after, and its rollback."""
