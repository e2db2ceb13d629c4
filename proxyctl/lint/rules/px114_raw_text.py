"""PX114 raw-text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.pasted_digests import MARK, is_pasted
from proxyctl.lint.subject import RULES, RuleRow, Subject

_WORD_FIRST = re.compile(r"(?:\(\?i\))?\^\(*(?:\?:|\?i\))?(?:\?i:)?[A-Za-z]")
_DOTS_AT_THE_EDGES = re.compile(r"\A(?:\.[*+]\??)+|(?:\.[*+]\??)+\Z")
_DOTS = re.compile(r"(?<!\\)(?:\\\\)*\.[*+]")


@check("PX114", "raw-text", Severity.WARNING)
def start_of_raw_text(subject: Subject) -> Iterator[Finding]:
    r"""A match_pattern with `^` before a word or `.*` between two, in a rule that rewrites nothing.

    match_pattern sees the query as the client sent it. A blank, a line break or a comment before
    the first word, as many libraries put there, and `^SELECT` misses the query. match_digest sees
    it without them.

    Use match_digest. If the rule is about values, begin the pattern with `^\s*`.

    `.` does not match a line break: `SELECT.*FOR UPDATE` misses a query that is written over
    several lines. Digest texts are one line. `(?s)` at the beginning of the pattern lets `.` match
    line breaks.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 2, match_pattern: 'SELECT.*FOR UPDATE', destination_hostgroup: 1, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 2, match_digest: 'SELECT.*FOR UPDATE', destination_hostgroup: 1, apply: 1}
    ```
    """
    for row, text in _deciding(subject):
        if _WORD_FIRST.match(text):
            message = "a blank or a comment at the beginning of a query, and `^` misses it"
            if _has_dots(text):
                message += "; `.` does not match a line break"
            yield Finding(RULES, row.key, message, "match_pattern", hint="use match_digest")
        elif _has_dots(text):
            message = "`.` does not match a line break, and queries may have one there"
            hint = "use match_digest, or begin the pattern with (?s)"
            yield Finding(RULES, row.key, message, "match_pattern", hint)


def _has_dots(text: str) -> bool:
    if "(?s" in text:
        return False
    return _DOTS.search(_DOTS_AT_THE_EDGES.sub("", text)) is not None


def _deciding(subject: Subject) -> Iterator[tuple[RuleRow, str]]:
    """Yield the match_pattern of rules that could have match_digest instead, as it seems."""
    if not subject.variables.query_digests:
        return
    for row in subject.rule_rows:
        text = row.text("match_pattern")
        if not text or row.rule is None or row.rule.replacement is not None:
            continue
        if row.rule.match_digest is not None or "match_pattern" in row.rule.broken:
            continue
        if not is_pasted(row, "match_pattern") and not MARK.search(text):
            yield row, text
