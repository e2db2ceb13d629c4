"""PX207 flagout-backwards."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.cells import number
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.flags import jumps
from proxyctl.lint.subject import FAST_ROUTING, RULES, Subject
from proxyctl.lint.wording import listed
from proxyctl.routing.rule import Rule


@check("PX207", "flagout-backwards", Severity.ERROR)
def flagout_backwards(subject: Subject) -> Iterator[Finding]:
    """A flagOUT to rules with a smaller rule_id only.

    ProxySQL goes on behind the rule that matched. It does not start again from the first rule,
    unless `mysql-query_processor_iterations` says so, and that is 0 by default. Rules of the new
    flagIN that stand before are never reached from here.

    Give the rules of the new flagIN larger rule_ids.

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
