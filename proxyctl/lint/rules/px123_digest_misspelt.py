"""PX123 digest-misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity
from proxyctl.lint.subject import LintSubject


@check("PX123", "digest-misspelt", Severity.ERROR, pgsql=True)
def digest_misspelt(subject: LintSubject) -> Iterator[Finding]:
    """A digest that ProxySQL ignores, or reads as a different number.

    ProxySQL reads `0x` and hexadecimal digits. It ignores what it cannot read: the rule then
    matches every query that its other criteria accept. Without `0x` it reads decimal digits up to
    the first letter: `12AB` is 12. It is a warning if only the spelling differs, in decimal or
    with a space: a search for it in stats_mysql_query_digest finds nothing. It is also a warning
    if digits seem to be cut off: a part of a digest matches no query.

    Copy the digest from stats_mysql_query_digest, with `0x`, and quote it in YAML.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, digest: 'D7C9A2A3B4C5D6E7', destination_hostgroup: 2, apply: 1}
      - {rule_id: 2, digest: '15549033229456532198', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, digest: '0xD7C9A2A3B4C5D6E7', destination_hostgroup: 2, apply: 1}
      - {rule_id: 2, digest: '0xD7C94357028062E6', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row, column, flaw in subject.flaws("digest"):
        message = f"digest {row.shown(column)}: {flaw.problem}"
        severity = SEVERITIES[flaw.effect]
        yield subject.rule_finding(row.key, message, column, flaw.fix, severity=severity)
