"""Checks: rules and fast routing for users that never get there, and fast routing itself."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.fast_routing import last_rule_in_the_way
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import FAST_ROUTING, RULES, USERS, Subject
from proxyctl.lint.wording import quoted
from proxyctl.routing.tables import Frontend, frontends


@check("PX208", "rule-of-nobody", Severity.ERROR)
def rule_of_fast_forward_user(subject: Subject) -> Iterator[Finding]:
    """A rule, or a row of fast routing, for a user whose queries never meet it.

    With `fast_forward: 1` the queries of a user go straight to the default hostgroup. Rules that
    name the user never have a hit.

    Switch fast_forward off, or remove the rule.

    It is a warning where no active row of mysql_users has the username of a rule, or of a row of
    fast routing: nobody can log in with that name. Names are compared to the letter. It is only
    said where mysql_users has rows.

    A row of fast routing with the username '' is for all users without a row of their own.

    ```yaml
    # Bad
    mysql_users:
      - {username: backup, password: '', default_hostgroup: 1, fast_forward: 1}
    mysql_query_rules:
      - {rule_id: 10, username: backup, match_digest: '^SELECT ', destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: backup, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 10, username: backup, match_digest: '^SELECT ', destination_hostgroup: 2}
    ```

    ```yaml
    # Bad
    mysql_users:
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 10, username: App, match_digest: '^SELECT ', destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 10, username: app, match_digest: '^SELECT ', destination_hostgroup: 2}
    ```

    ```yaml
    # Bad
    mysql_users:
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules_fast_routing:
      - {username: shop, schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules_fast_routing:
      - {username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```
    """
    users = _users(subject)
    if not users:
        return
    for rule in subject.rules:
        if rule.username is None:
            continue
        user, name = users.get(rule.username), quoted(rule.username)
        if user is None:
            message = f"no active row of mysql_users has the frontend user {name}"
            warning = Severity.WARNING
            yield Finding(RULES, (rule.rule_id,), message, "username", severity=warning)
        elif user.fast_forward:
            message = f"never used: {name} has fast_forward, and meets no rules"
            yield Finding(RULES, (rule.rule_id,), message, "username")
    for key, cells in subject.cells(FAST_ROUTING):
        name = str(cells["username"])
        user = users.get(name)
        if name and (user is None or user.fast_forward):
            message = f"no active row of mysql_users has the frontend user {quoted(name)}"
            if user is not None:
                message = f"{quoted(name)} has fast_forward, and is never routed"
            yield Finding(FAST_ROUTING, key, message, "username", severity=Severity.WARNING)


@check("PX210", "fast-routing-off", Severity.ERROR)
def fast_routing_off(subject: Subject) -> Iterator[Finding]:
    """Fast routing that is never looked at, since the last active rule has apply.

    ProxySQL asks fast routing unless the rule that it tried last has apply=1, whether that rule
    matched or not. Where the last active rule has it, a query that no rule matches goes to the
    user's default hostgroup.

    Leave `keep_fast_routing_alive` at its default: proxyctl then adds a rule behind the last one
    that matches nothing. On an instance, add such a rule: a flagIN that nothing leads to, apply=0.

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
    if rules is None or not subject.cells(FAST_ROUTING):
        return
    at_work = {row.key for row in subject.rule_rows if row.rule is not None}
    last = last_rule_in_the_way(
        rules.layout, (row for key, row in rules.rows.items() if key in at_work)
    )
    if last is not None:
        message = f"the last active rule has apply: {FAST_ROUTING} is never looked at"
        hint = "add a rule behind it with apply 0 and a flagIN that nothing leads to"
        yield Finding(RULES, (last,), message, "apply", hint)


def _users(subject: Subject) -> dict[str, Frontend] | None:
    """Return who may log in; None where the configuration says nothing of users."""
    return subject.once(_logins)


def _logins(subject: Subject) -> dict[str, Frontend] | None:
    held = subject.configuration.tables.get(USERS)
    return frontends(held.layout, held.rows.values()) if held else None
