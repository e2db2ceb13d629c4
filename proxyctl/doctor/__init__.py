"""What is wrong with a running ProxySQL.

instance -> (facts) -> Facts -> (one module a subject) -> findings -> (examine) -> Examination
"""
