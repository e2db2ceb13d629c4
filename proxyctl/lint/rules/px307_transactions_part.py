"""PX307 transactions-part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.lint.check import check
from proxyctl.lint.finding import Case, Finding, Severity, grouped
from proxyctl.lint.shadowing import flag_reach, verdicts
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.probes import INSERT, READ
from proxyctl.routing.reach import session_for
from proxyctl.routing.rule import Rule


@check("PX307", "transactions-part", Severity.WARNING, pgsql=True)
def transactions_part(subject: LintSubject) -> Iterable[Finding]:
    """A user without transaction_persistent whose reads and writes go to different hostgroups.

    With `transaction_persistent: false` rules also apply inside transactions: after BEGIN and
    UPDATE on the writer, a SELECT goes to a reader, which sees neither the change nor the snapshot.
    A rule for one table or one digest is enough, if its hostgroup is not the one that gets the
    writes.

    Leave transaction_persistent at its default, true, or send all of the user's queries to one
    hostgroup.

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
    return grouped(_parted(subject))


def _parted(subject: LintSubject) -> Iterator[Finding]:
    table = subject.dialect.users
    loose = {key for key, cells in subject.cells(table) if cells["transaction_persistent"] == 0}
    routing_rules = _routing_rules(subject) if loose else {}
    splits: dict[str | None, dict[Case, str]] = {}
    for name, representative in subject.reach.classes.items():
        key = subject.login_keys.get(name or "")
        if key not in loose or key is None:
            continue
        if representative not in splits:
            first = splits[representative] = {}
            for case, message in _splits(subject, representative, routing_rules):
                first.setdefault(case, message)
        messages = splits[representative]
        if messages:
            message, fix = next(iter(messages.values())), "set transaction_persistent to 1"
            cases = {key: messages.keys()}
            yield Finding(table, key, message, "transaction_persistent", fix, cases=cases)


def _routing_rules(subject: LintSubject) -> Mapping[str | None, Sequence[Rule]]:
    """Return the reachable rules with a destination, by username.

    One rule stands for all with the same destination and criteria for the session.
    """
    without_effect = verdicts(subject).without_effect
    rules: dict[str | None, dict[object, Rule]] = defaultdict(dict)
    for rule in subject.rules:
        answers = {"OK_msg", "error_msg"} & dict(rule.sets).keys()
        is_reached = rule.rule_id in flag_reach(subject).reached
        has_effect = is_reached and not answers and rule.rule_id not in without_effect
        if rule.destination is not None and has_effect and not rule.broken:
            rules[rule.username].setdefault((session_for(rule, None), rule.destination), rule)
    return {username: [*own.values()] for username, own in rules.items()}


def _splits(
    subject: LintSubject, username: str | None, routing_rules: Mapping[str | None, Sequence[Rule]]
) -> Iterator[tuple[Case, str]]:
    """Yield how rules split the user's queries between hostgroups, as a case and a message."""
    if subject.logins[username or ""].fast_forward:
        return
    for rule in (*routing_rules.get(None, ()), *routing_rules.get(username, ())):
        session = session_for(rule, username)
        for probe in (INSERT, READ):
            route = subject.reach.route(session, probe.query)
            hostgroup = route.destination_hostgroup
            if hostgroup not in (None, rule.destination) and not route.is_answered:
                words = f"{probe.name} to {hostgroup}, others to {rule.destination}"
                # The row says which user.
                case = Case(words, session._replace(username=None))
                yield (
                    case,
                    f"transaction_persistent is 0: inside a transaction `{probe.query}` goes to"
                    f" {subject.label(hostgroup)}, but queries that match"
                    f" {subject.rule_name(rule.rule_id)} go to"
                    f" {subject.label(rule.destination)}",
                )
