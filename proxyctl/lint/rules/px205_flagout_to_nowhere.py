"""PX205 flagout-to-nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.lint.shadowing import flag_reach, jumps
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import number


@check("PX205", "flagout-to-nowhere", Severity.WARNING, pgsql=True)
def flagout_to_nowhere(subject: LintSubject) -> Iterator[Finding]:
    """A flagOUT that no rule and no row of fast routing has as its flagIN.

    The query matches no further rule. It goes to the destination that the rules so far have set, or
    to the user's default hostgroup.

    Correct the number. To end the evaluation here, write `apply: 1`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, username: app, flagOUT: 100}
      - {rule_id: 20, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, username: app, flagOUT: 100}
      - {rule_id: 20, flagIN: 100, match_digest: '^SELECT ', destination_hostgroup: 2,
         apply: 1}
    ```
    """
    known = {rule.flag_in for rule in subject.rules}
    fast_routing = subject.cells(subject.dialect.fast_routing)
    known |= {number(cells["flagIN"]) or 0 for _, cells in fast_routing}
    for rule in subject.rules:
        if rule.apply or rule.rule_id not in flag_reach(subject).reached:
            continue
        for flag in sorted(jumps(rule) - known):
            column = "flagOUT" if rule.flag_out == flag else "attributes"
            message = f"no rule has flagIN {flag}: the query matches no further rule"
            fix = "correct the number, or write apply: 1 to end the evaluation here"
            key = (rule.rule_id,)
            yield subject.rule_finding(key, message, column, fix, cases=cases_of(key, [flag]))
