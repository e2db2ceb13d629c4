r"""Rules that write queries anew, and do not, or so that other rules miss them."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.subject import RuleRow, Subject
from proxyctl.routing.regex import Broken


def rewriting(subject: Subject) -> Iterator[tuple[RuleRow, str, str]]:
    """Yield the rules that rewrite, with match_pattern and replace_pattern; broken ones not."""
    for row in subject.rule_rows:
        pattern, template = row.text("match_pattern"), row.text("replace_pattern")
        if row.rule is None or pattern is None or template is None:
            continue
        if not isinstance(row.rule.match_pattern, Broken):
            yield row, pattern, template
