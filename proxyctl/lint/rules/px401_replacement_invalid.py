"""PX401 replacement-invalid."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.rewriting import rewriting
from proxyctl.lint.subject import RULES, Subject
from proxyctl.state.row import Secret

_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)


@check("PX401", "replacement-invalid", Severity.ERROR)
def invalid_replacements(subject: Subject) -> Iterator[Finding]:
    r"""A replace_pattern that ProxySQL cannot carry out: the query stays as it is.

    `\1` to `\9` are the groups of match_pattern, `\0` is all that it matched, and `\\` a backslash.
    With a group that the pattern does not have, or another letter behind the backslash, ProxySQL
    changes nothing and says nothing. The rule counts its hits all the same.

    A rule with negate_match_pattern takes the queries that match_pattern does not match, and then
    looks for match_pattern in them: there is nothing to replace, ever.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: 'FROM \1_v2'}
      - {rule_id: 2, match_pattern: 'LIMIT', negate_match_pattern: true, replace_pattern: 'LIMIT 9'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders)', replace_pattern: 'FROM \1_v2'}
      - {rule_id: 2, match_pattern: '^(SELECT (?!.* LIMIT ).*)$', replace_pattern: '\1 LIMIT 9'}
    ```
    """
    for row, _, template in rewriting(subject):
        rule = row.rule
        groups = rule.match_pattern.groups if rule and rule.match_pattern else 0
        for found in _REFERENCE.finditer(template):
            letter = found[1]
            if letter.isdigit() and int(letter) > groups:
                has = (
                    "no group" if groups == 0 else "1 group" if groups == 1 else f"{groups} groups"
                )
                message = f"\\{letter} is no group: match_pattern has {has}; nothing is replaced"
                hint = "put parentheses around what it stands for"
            elif not letter.isdigit() and letter != "\\":
                message = f"ProxySQL does not know \\{letter} here; nothing is replaced"
                hint = r"\0 to \9 are groups, \\ is a backslash; anything else stands for itself"
            else:
                continue
            if isinstance(row.cells["replace_pattern"], Secret):
                message = "a group or an escape that ProxySQL does not know; nothing is replaced"
            yield Finding(RULES, row.key, message, "replace_pattern", hint)
            break
    for row, _, _ in rewriting(subject):
        if row.rule and row.rule.negated:
            message = "a negated rule takes only queries in which there is nothing to replace"
            hint = "without negate_match_pattern, name what is to be replaced"
            yield Finding(RULES, row.key, message, "replace_pattern", hint)
