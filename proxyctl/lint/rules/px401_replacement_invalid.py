"""PX401 replacement-invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.state.row import Secret

_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)
_OTHER_DIALECT = re.compile(r"\$(\d)|\$\{(\d)")


@check("PX401", "replacement-invalid", Severity.ERROR, pgsql=True)
def replacement_invalid(subject: Subject) -> Iterator[Finding]:
    r"""A replace_pattern that ProxySQL cannot apply: the query stays unchanged.

    `\1` to `\9` are the groups of match_pattern, `\0` is the whole match, and `\\` is a backslash.
    With a group that the pattern does not have, or another character behind the backslash, ProxySQL
    silently changes nothing; the rule counts its hits all the same. With negate_match_pattern the
    rule takes only queries in which there is nothing to replace.

    It is a warning where a group is written `$1`, as in other tools: the backend gets `$1`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: 'FROM \1_v2'}
      - {rule_id: 2, match_pattern: 'LIMIT', negate_match_pattern: true, replace_pattern: 'LIMIT 9'}
      - {rule_id: 3, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM $1_v2'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM \1_v2'}
      - {rule_id: 2, match_pattern: '^(SELECT (?!.* LIMIT ).*)$', replace_pattern: '\1 LIMIT 9'}
    ```
    """
    for row in subject.rule_rows:
        rule, template = row.rule, row.text("replace_pattern")
        if rule is None or rule.match_pattern is None or "match_pattern" in rule.broken:
            continue
        groups = rule.match_pattern.groups
        problem = None if template is None else _problem(template, groups)
        if template is not None and rule.negated:
            fix = "without negate_match_pattern, match the text to replace"
            problem = "a negated rule takes only queries with nothing to replace", fix
        if problem is not None:
            message, fix = problem
            if isinstance(row.cells["replace_pattern"], Secret):
                message = "ProxySQL does not know a group or an escape in it; nothing is replaced"
            yield Finding(RULES, row.key, message, "replace_pattern", fix)
        elif template and groups and (dollar := _OTHER_DIALECT.search(template)):
            message = f"{dollar[0]} is no group for ProxySQL: the backend gets it as it is"
            fix = f"write \\{dollar[1] or dollar[2]}"
            warning = Severity.WARNING
            yield Finding(RULES, row.key, message, "replace_pattern", fix, severity=warning)


def _problem(template: str, groups: int) -> tuple[str, str] | None:
    """Return the first group or escape that ProxySQL does not know, and the fix."""
    has = {0: "no group", 1: "1 group"}.get(groups, f"{groups} groups")
    for reference in _REFERENCE.finditer(template):
        letter = reference[1]
        if letter.isdigit() and int(letter) > groups:
            message = f"match_pattern has {has} for \\{letter}; nothing is replaced"
            return message, "put parentheses around the part that it stands for"
        if not letter.isdigit() and letter != "\\":
            message = f"ProxySQL does not know \\{letter} here; nothing is replaced"
            fix = r"\0 to \9 are groups, \\ is a backslash; write other characters plainly"
            return message, fix
    return None
