"""PX103 pasted-digest."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.pasted_digests import (
    MARK,
    is_pasted,
    looks_pasted,
)
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.lint.wording import quoted
from proxyctl.state.row import Secret


@check("PX103", "pasted-digest", Severity.ERROR)
def pasted_digest(subject: Subject) -> Iterator[Finding]:
    r"""The text of a digest, pasted where a regular expression belongs.

    In a pattern `?` means "perhaps", `(` opens a group and `*` repeats what stands before it. Such
    a rule is loaded, and does not match the queries whose digest was pasted. It is only said of
    patterns that look like a digest text and do not match that very text.

    Put a backslash before `?`, `(`, `)`, `*` and `.`, as the hint does, or use the number in
    `digest`.

    It is a warning where the pattern matches that text all the same: `id = ?` is `id =`, with a
    blank or without, so the rule also matches what goes on otherwise, such as `id =(SELECT ...)`.

    A match_pattern that asks for `\?` in the place of a value is a warning, too: the query that it
    sees has the values, so the rule matches nothing but prepared statements.

    ```yaml
    # Bad: `id = ?$` means "id =", perhaps with a blank behind it.
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT COUNT(*) FROM orders WHERE id = ?$', cache_ttl: 500}
      - {rule_id: 2, match_digest: '^SELECT c FROM t WHERE id = ?', cache_ttl: 500}
      - {rule_id: 3, match_pattern: 'WHERE id = \?', destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT COUNT\(\*\) FROM orders WHERE id = \?$', cache_ttl: 500}
      - {rule_id: 2, match_digest: '^SELECT c FROM t WHERE id = \?$', cache_ttl: 500}
      - {rule_id: 3, match_digest: 'WHERE id = \?', destination_hostgroup: 2}
    ```
    """
    for row in subject.rule_rows:
        for column in ("match_digest", "match_pattern"):
            text = row.text(column)
            if text is None or not is_pasted(row, column):
                continue
            yield Finding(
                RULES,
                row.key,
                f"{column} {quoted(_shown(row, column))} looks like a digest text, and as a pattern"
                " it does not match that text",
                column,
                hint=_hint(row, column),
            )
    for row in subject.rule_rows:
        text = row.text("match_digest")
        if text is None or "?" not in text or not looks_pasted(row, text):
            continue
        if not is_pasted(row, "match_digest"):
            shown = quoted(_shown(row, "match_digest"))
            message = f"`?` in match_digest {shown} makes the character before it optional"
            hint, warning = _hint(row, "match_digest"), Severity.WARNING
            yield Finding(RULES, row.key, message, "match_digest", hint, severity=warning)
    for row in subject.rule_rows:
        text = row.text("match_pattern")
        if text and row.rule is not None and MARK.search(text):
            message = (
                "match_pattern asks for `?` where queries have values: only prepared ones match"
            )
            hint, warning = "use match_digest", Severity.WARNING
            yield Finding(RULES, row.key, message, "match_pattern", hint, severity=warning)


def _shown(row: RuleRow, column: str) -> str:
    value = row.cells[column]
    return value if isinstance(value, str) else ""


def _hint(row: RuleRow, column: str) -> str:
    text = _shown(row, column)
    if isinstance(text, Secret):
        return "escape what has a meaning in patterns"
    escaped = re.sub(r"([.?*+()])", r"\\\1", text)
    where = "" if column == "match_digest" else " in match_digest: match_pattern sees the values"
    return f"write '{escaped}'{where}"
