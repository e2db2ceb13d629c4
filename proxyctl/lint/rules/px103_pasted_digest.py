"""PX103 pasted-digest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.patterns import is_pasted, looks_pasted
from proxyctl.lint.subject import LintSubject, RuleRow
from proxyctl.rows.row import Secret

MARK = re.compile(
    r"(?:[=<>(,]|\b(?:LIMIT|LIKE|BETWEEN|AND|OFFSET|VALUES))(?: |\\s[+*]?)*(?:\\\?|\[\?\])",
    re.IGNORECASE,
)
"""An escaped `?` where digest texts have a value."""


@check("PX103", "pasted-digest", Severity.ERROR, pgsql=True)
def pasted_digest(subject: LintSubject) -> Iterator[Finding]:
    r"""A digest text in a column that expects a regular expression.

    In a pattern `?` makes the character before it optional, `(` opens a group and `*` repeats. So
    the rule does not match the queries whose digest text was pasted. It is a warning if the
    pattern matches that text by chance: `id = ?` also matches `id =(SELECT ...)`. It is also a
    warning if match_pattern contains `\?` for a value: a query has the value itself there, and
    only a prepared statement has `?`.

    Escape `?`, `(`, `)`, `*` and `.` with a backslash, or use the digest's number in `digest`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT COUNT(*) FROM orders WHERE id = ?$',
         cache_ttl: 500}
      - {rule_id: 2, match_digest: '^SELECT c FROM t WHERE id = ?', cache_ttl: 500}
      - {rule_id: 3, match_pattern: 'WHERE id = \?', destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT COUNT\(\*\) FROM orders WHERE id = \?$',
         cache_ttl: 500}
      - {rule_id: 2, match_digest: '^SELECT c FROM t WHERE id = \?$', cache_ttl: 500}
      - {rule_id: 3, match_digest: 'WHERE id = \?', destination_hostgroup: 2}
    ```
    """
    for row in subject.rule_rows:
        for column, text in row.patterns:
            shown, fix = row.shown(column), _fix(row, column)
            if is_pasted(row.rule, column, text):
                message = (
                    f"{column} {shown} is a digest text, which does not match itself as a pattern"
                )
                yield subject.rule_finding(row.key, message, column, fix)
            elif column == "match_digest" and "?" in text and looks_pasted(row.rule, text):
                message = f"`?` in match_digest {shown} makes the character before it optional"
                yield subject.rule_finding(row.key, message, column, fix, severity=Severity.WARNING)
            elif column == "match_pattern" and row.rule is not None and MARK.search(text):
                message = (
                    "match_pattern has `?` where a query has a value: only prepared statements"
                    " match"
                )
                warning = Severity.WARNING
                yield subject.rule_finding(
                    row.key, message, column, "use match_digest", severity=warning
                )


def _fix(row: RuleRow, column: str) -> str:
    text = row.cells[column]
    if isinstance(text, Secret):
        return "escape the characters that have a special meaning in patterns"
    escaped = re.sub(r"([.?*+()])", r"\\\1", str(text))
    where = "" if column == "match_digest" else " in match_digest: match_pattern sees the values"
    return f"write '{escaped}'{where}"
