"""PX210 fast-routing-off."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.destinations import last_rule_in_the_way
from proxyctl.catalog.model import MAX_INT as NEVER
from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.subject import FAST_ROUTING, Subject


@check("PX210", "fast-routing-off", Severity.ERROR, tables=(FAST_ROUTING,), pgsql=True)
def fast_routing_off(subject: Subject) -> Iterator[Finding]:
    """Fast routing that ProxySQL never uses, because the last active rule has apply.

    Before 3.0.9 ProxySQL skips fast routing if the last rule that it tried has apply=1, whether
    that rule matched or not. A query that no rule matches then goes to the user's default
    hostgroup.

    Leave `keep_fast_routing_alive` at its default: proxyctl then adds a rule behind the last one
    that matches nothing. It cannot where the last rule is in no file: then the owner of that rule
    has to add one, with apply=0 and a flagIN that no rule sets.

    ```yaml
    # Bad
    keep_fast_routing_alive: false
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1, apply: 1}
    mysql_query_rules_fast_routing:
      - {username: '', schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1, apply: 1}
    mysql_query_rules_fast_routing:
      - {username: '', schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```
    """
    rules = subject.configuration.tables.get(RULES)
    if rules is None or not subject.router.fast_routing:
        return
    in_use = {row.key for row in subject.rule_rows if row.rule is not None}
    last = last_rule_in_the_way(
        rules.layout, (row for key, row in rules.rows.items() if key in in_use)
    )
    if last is None:
        return
    place, owner = subject.configuration.place, subject.configuration.owner(RULES, (last,))
    fix, unused = f"add rule {last + 1} with flagIN {NEVER} and apply 0", subject.name(FAST_ROUTING)
    routes = subject.configuration.tables[FAST_ROUTING].rows
    key = next((key for key in routes if place(FAST_ROUTING, key, None)), None) if owner else None
    if key is None:
        message = f"the last active rule has apply: ProxySQL never uses {unused}"
        yield Finding(RULES, (last,), message, "apply", fix)
        return
    message = f"ProxySQL never uses {unused}: the last active rule, {last}{owner}, has apply"
    yield Finding(FAST_ROUTING, key, message, fix=f"its owner has to {fix}")
