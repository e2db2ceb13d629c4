"""PX123 digest-misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.rule_columns import (
    cell_text,
    digest_problem,
    is_another_spelling,
)
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.wording import quoted


@check("PX123", "digest-misspelt", Severity.ERROR)
def no_digest(subject: Subject) -> Iterator[Finding]:
    """A digest that ProxySQL reads as none, as another one, or does not show like this.

    ProxySQL reads it as C does: `0x` and hexadecimal digits. What it cannot read is no criterion:
    the rule then matches every query that its other criteria let through. Without `0x` the digits
    are read as decimal, as far as they go: `12AB` is 12.

    Copy it from stats_mysql_query_digest, `0x` included, and quote it in YAML.

    It is a warning where ProxySQL takes the digest for the number that it shows: in decimal, or
    with a blank beside it. Nobody finds it in stats_mysql_query_digest as it is written here.

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
    for row in subject.rule_rows:
        text = row.text("digest")
        problem = None if text is None else digest_problem(text)
        if text is None or problem is None:
            continue
        severity = Severity.WARNING if is_another_spelling(text) else None
        message = f"digest {quoted(cell_text(row, 'digest'))} {problem}"
        yield Finding(RULES, row.key, message, "digest", _AS_SHOWN, severity=severity)


_AS_SHOWN = "as stats_mysql_query_digest shows it: 0x and up to 16 hexadecimal digits, not all 0"
