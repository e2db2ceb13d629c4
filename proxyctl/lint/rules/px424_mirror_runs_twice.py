"""PX424 mirror-runs-twice."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.traffic_readers import called


@check("PX424", "mirror-runs-twice", Severity.ERROR)
def mirrored_twice(subject: Subject) -> Iterator[Finding]:
    """A mirror that runs the query a second time where it runs anyway.

    A mirrored query is a copy that goes its own way. With mirror_flagOUT and neither a
    mirror_hostgroup nor a rule at that flagIN, the copy goes to the user's default_hostgroup, and
    with the same hostgroup in mirror_hostgroup and destination_hostgroup to the same servers.
    Either way each write is done twice.

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
    for rule in subject.rules:
        sets = dict(rule.sets)
        mirror, flag = sets.get("mirror_hostgroup"), sets.get("mirror_flagOUT")
        if mirror is None and flag is not None and flag not in flags:
            message = (
                f"no rule has flagIN {flag}, and without mirror_hostgroup the copy runs in the"
                " user's default hostgroup"
            )
            hint = "give it a mirror_hostgroup"
            yield Finding(RULES, (rule.rule_id,), message, "mirror_flagOUT", hint)
        elif mirror is not None and flag is None and mirror == rule.destination:
            message = f"{called(subject, mirror)} gets each query twice: it is the destination, too"
            yield Finding(RULES, (rule.rule_id,), message, "mirror_hostgroup")
