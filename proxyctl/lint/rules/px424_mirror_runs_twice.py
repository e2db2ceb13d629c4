"""PX424 mirror-runs-twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.probes import DELETE, INSERT, READ, UPDATE
from proxyctl.routing.reach import session_for
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.result import HostgroupOrigin, Route
from proxyctl.routing.rule import Rule
from proxyctl.rows.row import Secret

_OWN_HOSTGROUP = "set mirror_hostgroup to a hostgroup of its own"
_AROUND_FAST_ROUTING = (
    "set mirror_flagOUT as well, to a value that no rule or fast-routing row has as flagIN"
)
_FAST = "fast routing also decides where copies go, before mirror_hostgroup"


@check("PX424", "mirror-runs-twice", Severity.ERROR)
def mirror_runs_twice(subject: LintSubject) -> Iterator[Finding]:
    """A mirror that sends the copy of a query to the servers that get the query itself.

    Each write then runs twice. The copy goes to mirror_hostgroup, which may also be the
    destination_hostgroup of this or another matching rule, or the user's default_hostgroup if no
    rule sets a destination. With mirror_flagOUT, rules with that flagIN may send it elsewhere;
    without such a rule and without mirror_hostgroup it goes to the user's default_hostgroup.

    Fast routing also decides where copies go, before mirror_hostgroup and regardless of apply: a
    copy then goes to the servers of the user and the schema. With a mirror_flagOUT, only rows with
    that flagIN are used.

    Set mirror_hostgroup to a hostgroup of its own, and with fast routing a mirror_flagOUT that
    nothing else has as flagIN.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_flagOUT: 100, apply: true}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_hostgroup: 30}
    mysql_query_rules_fast_routing:
      - {username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 10}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_hostgroup: 30, mirror_flagOUT: 100}
    mysql_query_rules_fast_routing:
      - {username: app, schemaname: shop, flagIN: 0, destination_hostgroup: 10}
    ```
    """
    flags = {rule.flag_in for rule in subject.rules}
    for rule in subject.rules:
        key, sets = (rule.rule_id,), dict(rule.sets)
        mirror, flag = sets.get("mirror_hostgroup"), sets.get("mirror_flagOUT")
        if mirror is None and flag is not None and flag not in flags:
            message = (
                f"no rule has flagIN {flag}, and without mirror_hostgroup the copy runs in the"
                " user's default hostgroup"
            )
            yield subject.rule_finding(key, message, "mirror_flagOUT", _OWN_HOSTGROUP)
        elif mirror is not None or flag is not None:
            column = "mirror_flagOUT" if mirror is None else "mirror_hostgroup"
            misled = next(_misled(subject, rule), None)
            if misled is not None:
                yield subject.rule_finding(key, misled.message, column, misled.fix)


class _Misled(NamedTuple):
    """What is wrong with the copy of a query."""

    message: str
    fix: str


def _misled(subject: LintSubject, rule: Rule) -> Iterator[_Misled]:
    """Yield what is wrong with the copies of queries that the rule mirrors."""
    queries = [*_queries(subject, rule)]
    sessions = dict.fromkeys((session_for(rule, subject.reach.anybody), *subject.sessions))
    for session in sessions:
        # Trying every query in every session takes seconds where each user has rules of its own.
        for query in queries if rule.username in (None, session.username) else ():
            route = subject.reach.route(session, query)
            if rule.rule_id not in route.matched_rules:
                continue
            copy = subject.router.copy_of(session.request(query), route)
            if copy is None or copy.destination_hostgroup is None:
                continue
            shown = f"`{query}`{subject.session_words(session)}"
            label = subject.label(copy.destination_hostgroup)
            is_fast = copy.source is HostgroupOrigin.FAST_ROUTING
            fix = _AROUND_FAST_ROUTING if is_fast else _OWN_HOSTGROUP
            if copy.destination_hostgroup == route.destination_hostgroup:
                why = _FAST if is_fast else _why(subject, rule, route)
                yield _Misled(f"{label} runs {shown} twice: {why}", fix)
            elif is_fast:
                yield _Misled(f"the copy of {shown} goes to {label}: {_FAST}", fix)


def _why(subject: LintSubject, rule: Rule, route: Route) -> str:
    """Return why the query goes where its copy goes."""
    if route.source is HostgroupOrigin.DEFAULT_HOSTGROUP:
        return "it is also the user's default_hostgroup"
    if route.source is HostgroupOrigin.RULE and route.rule_id not in (None, rule.rule_id):
        return f"{subject.rule_name(route.rule_id or 0)} sends the query there"
    return "it is also the destination"


def _queries(subject: LintSubject, rule: Rule) -> Iterator[str]:
    """Yield queries that the rule may match."""
    from proxyctl.lint.pattern_queries import queries_of  # importing it takes a while

    for probe in (INSERT, UPDATE, DELETE, READ):
        yield probe.query
    row = next(row for row in subject.rule_rows if row.rule is rule)
    for column, pattern in row.patterns:
        if not isinstance(row.cells[column], Secret):
            yield from (probe.query for probe in queries_of(pattern, subject.dialect.samples))
            yield from samples(pattern)
