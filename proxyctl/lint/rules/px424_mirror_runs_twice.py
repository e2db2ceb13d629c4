"""PX424 mirror-runs-twice."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.subject import Subject


@check("PX424", "mirror-runs-twice", Severity.ERROR, pgsql=True)
def mirror_runs_twice(subject: Subject) -> Iterator[Finding]:
    """A mirror that sends the copy of a query to the servers that get the query itself.

    With mirror_flagOUT and neither a mirror_hostgroup nor a rule with that flagIN, the copy goes to
    the user's default_hostgroup. With the same number in mirror_hostgroup and
    destination_hostgroup, it goes to the same servers. Each write then runs twice.

    Set mirror_hostgroup to a hostgroup of its own.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_flagOUT: 100, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^UPDATE', mirror_hostgroup: 30, apply: true}
    ```
    """
    flags = {rule.flag_in for rule in subject.rules}
    fix = "set mirror_hostgroup to a hostgroup of its own"
    for rule in subject.rules:
        key, sets = (rule.rule_id,), dict(rule.sets)
        mirror, flag = sets.get("mirror_hostgroup"), sets.get("mirror_flagOUT")
        if mirror is None and flag is not None and flag not in flags:
            message = (
                f"no rule has flagIN {flag}, and without mirror_hostgroup the copy runs in the"
                " user's default hostgroup"
            )
            yield Finding(RULES, key, message, "mirror_flagOUT", fix)
        elif mirror is not None and flag is None and mirror == rule.destination:
            message = f"{subject.label(mirror)} runs each query twice: it is the destination, too"
            yield Finding(RULES, key, message, "mirror_hostgroup", fix)
