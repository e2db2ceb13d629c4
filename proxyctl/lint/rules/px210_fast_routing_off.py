"""PX210 fast-routing-off."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.destinations import last_rule_in_the_way
from proxyctl.catalog.model import MAX_INT as NEVER
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.load_image import valid_client_addr
from proxyctl.rows.row import sorted_keys


@check("PX210", "fast-routing-off", Severity.ERROR, pgsql=True, any_size=True)
def fast_routing_off(subject: LintSubject) -> Iterator[Finding]:
    """Fast routing that ProxySQL never uses, because the last active rule has apply.

    Before 3.0.9 ProxySQL skips fast routing if the last rule that it tried has apply=1, whether
    that rule matched or not. A query that no rule matches then goes to the user's default
    hostgroup.

    Leave `keep_fast_routing_alive` at its default: proxyctl then adds a rule that matches nothing
    after the last one. It cannot do so if the last rule is in no file: then the owner of that rule
    has to add one, with apply=0 and a flagIN that no rule sets.

    ```yaml
    # Bad
    keep_fast_routing_alive: false
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1,
         apply: 1}
    mysql_query_rules_fast_routing:
      - {username: '', schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .*FOR UPDATE', destination_hostgroup: 1,
         apply: 1}
    mysql_query_rules_fast_routing:
      - {username: '', schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```
    """
    tables, unused = subject.configuration.tables, subject.dialect.fast_routing
    routes = tables[unused].rows if unused in tables else {}
    rules = tables.get(subject.dialect.rules)
    if rules is None or not routes:
        return
    address = rules.layout.index["client_addr"]
    loaded = (row for row in rules.rows.values() if valid_client_addr(row[address]))
    last = last_rule_in_the_way(rules.layout, loaded)
    if last is None:
        return
    owner = subject.configuration.owner(subject.dialect.rules, (last,))
    fix = f"add rule {last + 1} with flagIN {NEVER} and apply 0"
    # ProxySQL keeps rows in no order.
    ours = (key for key in sorted_keys(routes) if subject.configuration.place(unused, key, None))
    key = next(ours, None) if owner else None
    if key is None:
        message = f"the last active rule has apply: ProxySQL never uses {unused}"
        yield subject.rule_finding((last,), message, "apply", fix, cases={(last,): routes.keys()})
        return
    message = f"ProxySQL never uses {unused}: the last active rule, {last}{owner}, has apply"
    fix = f"ask its owner to {fix}"
    yield Finding(unused, key, message, fix=fix, cases={key: routes.keys()})
