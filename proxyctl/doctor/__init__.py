"""Find problems of a running ProxySQL.

instance -> (facts) -> Facts -> (a module per subject) -> findings -> (examine) -> Examination
"""
