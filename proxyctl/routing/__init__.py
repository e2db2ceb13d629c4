"""Route queries without a server: the rules that a query hits, its final text, its destination.

A `Router` holds the rules of one instance, compiled once. `evaluate` answers fast; `explain` adds
why each rule did or did not match; `outcomes` returns every route that weighted flagOUTs allow.

    router = Router(layout, rows, digest_of=Digester(options).digest, users=frontends(...))
    router.evaluate(ClientQuery(b"SELECT 1", username="app")).destination_hostgroup

The evaluation follows ProxySQL 2.7 and 3.0, and is tested against both: rules by rule_id along
flagIN and flagOUT, fast routing, hints in the first comment, the user's default hostgroup.
`RoutingVariables.version` selects the behaviour of other releases.
"""
