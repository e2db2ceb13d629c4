"""PX401 replacement-invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.rows.row import Secret

_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)
_OTHER_DIALECT = re.compile(r"\$(?:\{(\w+)\}|(\d)|(\w+))")
_TWO_DIGITS = re.compile(r"(?<!\\)(?:\\\\)*\\([1-9]\d)")
_GROUP = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?(?:P?<(\w+)>|'(\w+)')", re.DOTALL)


@check("PX401", "replacement-invalid", Severity.ERROR, pgsql=True)
def replacement_invalid(subject: LintSubject) -> Iterator[Finding]:
    r"""A replace_pattern that ProxySQL cannot apply: the query stays unchanged.

    `\1` to `\9` are the groups of match_pattern, `\0` is the whole match, and `\\` is a backslash.
    With a group that the pattern does not have, or another character after the backslash, ProxySQL
    silently changes nothing; the rule still counts its hits. With negate_match_pattern the
    rule matches only queries in which there is nothing to replace.

    It is a warning if a group is written as in other tools: `$1`, `${1}`, or `${name}` for a
    group with a name. The backend gets it unchanged. `\10` is also a warning: ProxySQL reads it as
    `\1` and a 0.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: 'FROM \1_v2'}
      - {rule_id: 2, match_pattern: 'LIMIT', negate_match_pattern: true,
         replace_pattern: 'LIMIT 9'}
      - {rule_id: 3, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM $1_v2'}
      - {rule_id: 4, match_pattern: 'FROM (?<t>\w+)_old', replace_pattern: 'FROM ${t}_new'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM \1_v2'}
      - {rule_id: 2, match_pattern: '^(SELECT (?!.* LIMIT ).*)$',
         replace_pattern: '\1 LIMIT 9'}
    ```
    """
    for row in subject.rule_rows:
        rule, template = row.rule, row.text("replace_pattern")
        if rule is None or rule.match_pattern is None or "match_pattern" in rule.broken:
            continue
        groups = rule.match_pattern.groups
        problem = None if template is None else _problem(template, groups)
        if template is not None and rule.negated:
            fix = "leave out negate_match_pattern, and match the text to replace"
            problem = "a negated rule matches only queries with nothing to replace", fix
        if problem is not None:
            message, fix = problem
            if isinstance(row.cells["replace_pattern"], Secret):
                message = (
                    "it contains a group or an escape that ProxySQL does not know; nothing is"
                    " replaced"
                )
            yield subject.rule_finding(row.key, message, "replace_pattern", fix)
        elif template and (foreign := _foreign(template, row.text("match_pattern") or "", groups)):
            message, fix = foreign
            if isinstance(row.cells["replace_pattern"], Secret):
                message = (
                    "it contains a group that ProxySQL does not know: the backend gets it unchanged"
                )
            warning = Severity.WARNING
            yield subject.rule_finding(row.key, message, "replace_pattern", fix, severity=warning)


def _problem(template: str, groups: int) -> tuple[str, str] | None:
    """Return the first group or escape that ProxySQL does not know, and the fix."""
    has = {0: "no group", 1: "only 1 group, none"}.get(groups, f"only {groups} groups, none")
    for reference in _REFERENCE.finditer(template):
        letter = reference[1]
        if letter.isdigit() and int(letter) > groups:
            message = f"match_pattern has {has} for \\{letter}; nothing is replaced"
            return message, "put parentheses around the part that it stands for"
        if not letter.isdigit() and letter != "\\":
            message = f"ProxySQL does not know \\{letter} here; nothing is replaced"
            fix = r"write \0 to \9 for groups, \\ for a backslash, and other characters as they are"
            return message, fix
    return None


def _foreign(template: str, pattern: str, groups: int) -> tuple[str, str] | None:
    """Return the first group that is written as in another tool, and the fix."""
    names = [group[1] or group[2] for group in _GROUP.finditer(pattern) if group[0][0] == "("]
    for dollar in _OTHER_DIALECT.finditer(template):
        name = dollar[1] or dollar[2] or dollar[3]
        # `$x` may be a name of the database; `${x}` is nothing.
        if dollar[1] or (groups and name.isdigit()) or name in names:
            number = names.index(name) + 1 if name in names else -1
            number = int(name) if name.isdigit() else number
            highest = min(groups, 9)
            fix = "write \\1" if highest == 1 else f"write \\1 to \\{highest}"
            if 0 <= number <= highest:
                fix = f"write \\{number}"
            elif not groups:
                fix = "put parentheses around the part that it stands for, and write \\1"
            return f"{dollar[0]} is not a group for ProxySQL: the backend gets it unchanged", fix
    if (two := _TWO_DIGITS.search(template)) and int(two[1]) <= groups:
        message = f"ProxySQL has no group \\{two[1]}: it reads \\{two[1][0]} and a {two[1][1]}"
        return message, "use (?:...) for groups that the replacement does not need"
    return None
