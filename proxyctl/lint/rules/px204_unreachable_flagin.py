"""PX204 unreachable-flagin."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proxyctl.catalog import MAX_INT
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.flags import jumps
from proxyctl.lint.subject import FAST_ROUTING, RULES, Subject
from proxyctl.lint.wording import listed
from proxyctl.routing.rule import Rule
from proxyctl.state.cells import number


@check("PX204", "unreachable-flagin", Severity.ERROR)
def unreachable_flagin(subject: Subject) -> Iterator[Finding]:
    """A rule, or a row of fast routing, with a flagIN that no query has.

    A query begins with flagIN 0. It gets another one by the flagOUT of a rule that matches (or by
    `flagOUTs` in its attributes), by the next_query_flagIN of the query before it, or by
    mirror_flagOUT. A rule that waits for a flagIN that nothing sets never has a hit. A rule with
    `apply: 1` ends the rules, so that its flagOUT leads nowhere.

    ProxySQL goes on behind the rule that matched, unless `mysql-query_processor_iterations` says
    otherwise. A flagOUT to rules with a smaller rule_id only does not reach them: give these larger
    rule_ids.

    Set flagOUT in the rule before, or correct the number. A rule with flagIN 2147483647 is left
    alone: it keeps fast routing alive.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, username: app, flagOUT: 100}
      - {rule_id: 20, flagIN: 101, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, username: app, flagOUT: 100}
      - {rule_id: 20, flagIN: 100, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, flagIN: 100, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, username: app, flagOUT: 100}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 20, username: app, flagOUT: 100}
      - {rule_id: 30, flagIN: 100, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    reach = subject.reach
    for rule in subject.rules:
        if rule.rule_id in reach.reached or rule.flag_in == MAX_INT:
            continue
        setters = reach.setters.get(rule.flag_in, ())
        if not any(setter.rule_id in reach.reached for setter in setters):
            enders = reach.enders.get(rule.flag_in, ())
            message = f"never reached: {_nobody(rule.flag_in, setters, enders)}"
            yield Finding(RULES, (rule.rule_id,), message, "flagIN", _hint(setters, enders))
    for key, cells in subject.cells(FAST_ROUTING):
        flag = number(cells["flagIN"]) or 0
        setters = reach.setters.get(flag, ())
        if flag and not any(setter.rule_id in reach.reached for setter in setters):
            enders = reach.enders.get(flag, ())
            message = f"never used: {_nobody(flag, setters, enders)}"
            yield Finding(FAST_ROUTING, key, message, "flagIN", _hint(setters, enders))
    yield from _backwards(subject)


def _backwards(subject: Subject) -> Iterator[Finding]:
    """Yield the rules that lead back, and those that only rules behind them lead to."""
    if subject.variables.query_processor_iterations:
        return
    lanes: dict[int, list[Rule]] = {}
    for rule in subject.rules:
        lanes.setdefault(rule.flag_in, []).append(rule)
    fast = {number(cells["flagIN"]) or 0 for _, cells in subject.cells(FAST_ROUTING)}
    said: set[int] = set()
    for rule in subject.rules:
        if rule.apply or rule.rule_id not in subject.reach.reached:
            continue
        for flag in sorted(jumps(rule) & lanes.keys() - fast):
            before = [other.rule_id for other in lanes[flag]]
            # Back to 0 ends a side path: the rules of 0 that stand before have been tried.
            if flag and before[-1] < rule.rule_id:
                said.add(flag)
                message = f"leads to flagIN {flag} of rules before it only: {listed(before)}"
                hint = "give them larger rule_ids: ProxySQL goes on behind the rule that matched"
                yield Finding(RULES, (rule.rule_id,), message, "flagOUT", hint)
    for rule in subject.rules:
        if rule.rule_id in subject.reach.reached or rule.flag_in in said:
            continue
        behind = subject.reach.setters.get(rule.flag_in, ())
        setters = [one.rule_id for one in behind if one.rule_id in subject.reach.reached]
        if setters:
            by = listed(setters)
            message = f"never reached: flagIN {rule.flag_in} is set behind it, by {by}"
            hint = "give it a larger rule_id: ProxySQL goes on behind the rule that matched"
            yield Finding(RULES, (rule.rule_id,), message, "flagIN", hint)


def _nobody(flag: int, setters: Sequence[Rule], enders: Sequence[Rule]) -> str:
    if not setters and enders:
        by = listed([one.rule_id for one in enders])
        return f"flagIN {flag} is set by {by} only, with apply: 1, which ends the rules"
    if not setters:
        return f"no rule sets flagIN {flag}"
    ids = [setter.rule_id for setter in setters]
    return f"flagIN {flag} is set by {listed(ids)} only, never reached either"


def _hint(setters: Sequence[Rule], enders: Sequence[Rule]) -> str | None:
    if setters:
        return None
    return "take apply: 1 out there" if enders else "set it as flagOUT in a rule before"
