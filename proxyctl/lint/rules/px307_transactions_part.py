"""PX307 transactions-part."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_observations import routes_of
from proxyctl.lint.traffic_parting import parting_rule
from proxyctl.lint.traffic_readers import called
from proxyctl.lint.traffic_sessions import Session, classes, login_keys, logins, sessions
from proxyctl.routing import Source
from proxyctl.routing.probes import BEGIN, INSERT, READ


@check("PX307", "transactions-part", Severity.WARNING)
def parted_transactions(subject: Subject) -> Iterator[Finding]:
    """A user without transaction_persistent, whose reads and writes go to different hostgroups.

    With `transaction_persistent: false` rules hold inside transactions, too: after BEGIN and UPDATE
    on the writer, a SELECT goes to a reader, which neither sees the change nor the snapshot. It is
    also said where a single rule, for one table or one digest, sends elsewhere than the writes go.
    Leave it on, as it is by default, or send all that the user says to one hostgroup.

    ```yaml
    # Bad
    mysql_users:
      - {username: app, default_hostgroup: 10, transaction_persistent: false}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_users:
      - {username: app, default_hostgroup: 10}
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}
    ```
    """
    keys = login_keys(subject)
    loose = {
        str(cells["username"])
        for key, cells in subject.cells("mysql_users")
        if cells["transaction_persistent"] == 0 and key == keys.get(str(cells["username"]))
    }
    if not loose:
        return
    parted = {
        session.username: session for session in sessions(subject) if _is_parted(subject, session)
    }
    stands_for = classes(subject)
    for name in logins(subject):
        session = parted.get(stands_for[name]) if name in loose else None
        if session is not None:
            routes = routes_of(subject, session)
            message = (
                "transaction_persistent is 0, and inside a transaction"
                f" `{INSERT.query}` goes to"
                f" {called(subject, routes[INSERT].destination_hostgroup)}, `{READ.query}` to"
                f" {called(subject, routes[READ].destination_hostgroup)}"
            )
            hint = "leave transaction_persistent at 1"
            yield Finding("mysql_users", keys[name], message, "transaction_persistent", hint)
            continue
        parting = parting_rule(subject, stands_for[name]) if name in loose else None
        if parting is not None:
            message = (
                f"transaction_persistent is 0, and inside a transaction `{INSERT.query}` goes to"
                f" {called(subject, parting.hostgroup)}, and what rule {parting.rule.rule_id} takes"
                f" to {called(subject, parting.rule.destination)}"
            )
            hint = "leave transaction_persistent at 1"
            yield Finding("mysql_users", keys[name], message, "transaction_persistent", hint)


def _is_parted(subject: Subject, session: Session) -> bool:
    routes = routes_of(subject, session)
    read, *written = (routes[probe] for probe in (READ, INSERT, BEGIN))
    hostgroup = read.destination_hostgroup
    return (
        read.source in (Source.RULE, Source.FAST_ROUTING, Source.DEFAULT_HOSTGROUP)
        and hostgroup is not None
        and not read.is_answered
        and any(
            route.destination_hostgroup not in (None, hostgroup) and not route.is_answered
            for route in written
        )
    )
