"""PX208 rule-of-nobody."""

from __future__ import annotations

from collections.abc import Iterator

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
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 10, username: backup, match_digest: '^SELECT ', destination_hostgroup: 2}
      - {rule_id: 20, username: App, match_digest: '^SELECT ', destination_hostgroup: 2}
    mysql_query_rules_fast_routing:
      - {username: shop, schemaname: shop, flagIN: 0, destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: backup, password: '', default_hostgroup: 1}
      - {username: app, password: '', default_hostgroup: 1}
    mysql_query_rules:
      - {rule_id: 10, username: backup, match_digest: '^SELECT ', destination_hostgroup: 2}
      - {rule_id: 20, username: app, match_digest: '^SELECT ', destination_hostgroup: 2}
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


def _users(subject: Subject) -> dict[str, Frontend] | None:
    """Return who may log in; None where the configuration says nothing of users."""
    return subject.once(_logins)


def _logins(subject: Subject) -> dict[str, Frontend] | None:
    held = subject.configuration.tables.get(USERS)
    return frontends(held.layout, held.rows.values()) if held else None
