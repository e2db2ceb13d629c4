"""PX114 raw-text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, grouped
from proxyctl.lint.patterns import is_pasted
from proxyctl.lint.rules.px103_pasted_digest import MARK
from proxyctl.lint.subject import LintSubject, RuleRow

_WORD_FIRST = re.compile(r"(?:\(\?i\))?\^\(*(?:\?:|\?i\))?(?:\?i:)?[A-Za-z]")
_DOTS_AT_THE_EDGES = re.compile(r"\A(?:\.[*+]\??)+|(?:\.[*+]\??)+\Z")
_COMMENT = re.compile(r"/[\[\\]*\*|\*[\]\\]*/|#|-- ")
"""Comments, which digest texts do not have."""
_DOTS = re.compile(r"(?<!\\)(?:\\\\)*\.[*+]")


@check("PX114", "raw-text", Severity.WARNING, pgsql=True)
def raw_text(subject: LintSubject) -> Iterable[Finding]:
    r"""A match_pattern with `^` before a word or `.*` between words, where match_digest would do.

    match_pattern sees the query as the client sent it. Many libraries put a comment or a space
    before the first word: `^SELECT` misses such a query. `.` does not match a line break:
    `SELECT.*FOR UPDATE` misses a query that spans several lines. match_digest sees one line that
    begins with the first word.

    Use match_digest. For a rule about values, begin the pattern with `^\s*`, or with `(?s)` to let
    `.` match line breaks.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 2, match_pattern: 'SELECT.*FOR UPDATE', destination_hostgroup: 1,
         apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
      - {rule_id: 2, match_digest: 'SELECT.*FOR UPDATE', destination_hostgroup: 1, apply: 1}
    ```
    """
    return grouped(_raw_texts(subject))


def _raw_texts(subject: LintSubject) -> Iterator[Finding]:
    for row, text in _patterns_for_digest(subject):
        has_inner_dots = "(?s" not in text and _DOTS.search(_DOTS_AT_THE_EDGES.sub("", text))
        if has_inner_dots or _WORD_FIRST.match(text):
            message = (
                "match_pattern is compared with the query as sent, and fails if the query has a"
                " space, a comment or a line break where the pattern has none"
            )
            yield subject.rule_finding(row.key, message, "match_pattern", "use match_digest")


def _patterns_for_digest(subject: LintSubject) -> Iterator[tuple[RuleRow, str]]:
    """Yield the rules that seem to need no match_pattern and could use match_digest."""
    for row in subject.rule_rows if subject.variables.query_digests else ():
        text = row.text("match_pattern")
        if not text or row.rule is None or row.rule.replacement is not None:
            continue
        if row.rule.match_digest is not None or "match_pattern" in row.rule.broken:
            continue
        if is_pasted(row.rule, "match_pattern", text) or MARK.search(text) or _COMMENT.search(text):
            continue
        if _matches_no_digest_text(subject, row, text):
            continue
        yield row, text


def _matches_no_digest_text(subject: LintSubject, row: RuleRow, text: str) -> bool:
    pattern = row.rule and row.rule.match_pattern
    modifiers = row.text("re_modifiers") or ""
    return bool(pattern and subject.criteria.as_match_digest(text, pattern, modifiers))
