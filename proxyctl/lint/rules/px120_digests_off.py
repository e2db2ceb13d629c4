"""PX120 digests-off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import normal_digest, number
from proxyctl.proxysql.load_image import valid_client_addr
from proxyctl.rows.row import sorted_keys


@check("PX120", "digests-off", Severity.ERROR, pgsql=True, any_size=True)
def digests_off(subject: LintSubject) -> Iterable[Finding]:
    """A rule with match_digest or digest while `mysql-query_digests` is false.

    Without digests ProxySQL skips match_digest: the rule matches every query that its other
    criteria accept. It compares `digest` with the leftover of an earlier query.

    Turn the variable on, or use match_pattern.

    ```yaml
    # Bad: every query goes to 2.
    variables: {mysql-query_digests: false}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    variables: {mysql-query_digests: true}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    return () if subject.variables.query_digests else grouped(_digest_rules(subject))


def _digest_rules(subject: LintSubject) -> Iterator[Finding]:
    variable = subject.dialect.variable("query_digests")
    fix = f"set {variable}: true, or use match_pattern"
    loaded = {
        key: cells
        for key, cells in subject.cells(subject.dialect.rules)
        if number(cells["active"]) == 1 and valid_client_addr(cells["client_addr"])
    }
    for key in sorted_keys(loaded):
        cells = loaded[key]
        if cells["match_digest"] is not None:
            message = f"{variable} is false: match_digest is skipped, as if it matched everything"
            yield subject.rule_finding(key, message, "match_digest", fix)
        elif normal_digest(cells["digest"]) is not None:
            message = f"{variable} is false: no query has a digest"
            yield subject.rule_finding(key, message, "digest", fix)
