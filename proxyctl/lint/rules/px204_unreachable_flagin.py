"""PX204 unreachable-flagin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from proxyctl.catalog import MAX_INT
from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped, listed
from proxyctl.lint.shadowing import flag_reach
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import number
from proxyctl.routing.rule import Rule


@check("PX204", "unreachable-flagin", Severity.ERROR, pgsql=True)
def unreachable_flagin(subject: LintSubject) -> Iterable[Finding]:
    """A rule, or a row of fast routing, with a flagIN that no query has.

    A query begins with flagIN 0. It gets a different one from the flagOUT (or the `flagOUTs` in the
    attributes) of a rule that matches, from the next_query_flagIN of the query before it, or from
    mirror_flagOUT. A rule with `apply: 1` ends the evaluation, so its flagOUT leads nowhere.
    ProxySQL continues after the rule that matched, unless `mysql-query_processor_iterations` is
    set: a flagOUT does not reach rules with a smaller rule_id.

    Set flagOUT in an earlier rule, or correct the number. flagIN 2147483647 is not reported: a rule
    with it keeps fast routing alive.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, flagIN: 102, match_digest: '^UPDATE ', destination_hostgroup: 1,
         apply: 1}
      - {rule_id: 20, username: app, flagOUT: 100}
      - {rule_id: 30, username: web, flagOUT: 102}
      - {rule_id: 40, flagIN: 101, match_digest: '^SELECT ', destination_hostgroup: 2,
         apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, username: app, flagOUT: 100}
      - {rule_id: 20, flagIN: 100, match_digest: '^SELECT ', destination_hostgroup: 2,
         apply: 1}
    ```
    """
    return grouped((*_of_rules(subject), *_of_fast_routing(subject)))


def _of_rules(subject: LintSubject) -> Iterator[Finding]:
    for rule in subject.rules:
        if rule.rule_id not in flag_reach(subject).reached and rule.flag_in != MAX_INT:
            why, fix = _why(subject, rule.flag_in)
            yield subject.rule_finding((rule.rule_id,), f"never reached: {why}", "flagIN", fix)


def _of_fast_routing(subject: LintSubject) -> Iterator[Finding]:
    reach = flag_reach(subject)
    for key, cells in subject.cells(subject.dialect.fast_routing):
        flag = number(cells["flagIN"]) or 0
        setters = reach.setters.get(flag, ())
        if flag and not any(setter.rule_id in reach.reached for setter in setters):
            why, fix = _why(subject, flag)
            yield Finding(subject.dialect.fast_routing, key, f"never used: {why}", "flagIN", fix)


def _why(subject: LintSubject, flag: int) -> tuple[str, str | None]:
    """Return why no query has this flagIN there, and the fix."""
    reach = flag_reach(subject)
    setters, enders = reach.setters.get(flag, ()), reach.enders.get(flag, ())
    later = [rule for rule in setters if rule.rule_id in reach.reached]
    if later:
        fix = "give it a larger rule_id: ProxySQL continues after the rule that matched"
        return f"flagIN {flag} is only set later, by {_listed(subject, later)}", fix
    if setters:
        return (
            f"flagIN {flag} is set only by {_listed(subject, setters)}, which is never reached"
            " either",
            None,
        )
    if enders:
        only = _listed(subject, enders)
        why = f"flagIN {flag} is set only by {only}, which ends the evaluation with apply: 1"
        return why, "remove apply: 1 there"
    return f"no rule sets flagIN {flag}", "set it as flagOUT in an earlier rule"


def _listed(subject: LintSubject, rules: Sequence[Rule]) -> str:
    table, owner = subject.dialect.rules, subject.configuration.owner
    return listed([f"{rule.rule_id}{owner(table, (rule.rule_id,))}" for rule in rules])
