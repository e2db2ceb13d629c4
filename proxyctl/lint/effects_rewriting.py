r"""Rules that write queries anew, and do not, or so that other rules miss them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RuleRow, Subject
from proxyctl.routing.patterns import Broken
from proxyctl.state import Secret

_RULES = "mysql_query_rules"
_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)
_OTHER_DIALECT = re.compile(r"\$\d|\$\{\d")


def rewriting(subject: Subject) -> Iterator[tuple[RuleRow, str, str]]:
    """Yield the rules that rewrite, with match_pattern and replace_pattern; broken ones not."""
    for row in subject.rule_rows:
        pattern, template = row.text("match_pattern"), row.text("replace_pattern")
        if row.rule is None or pattern is None or template is None:
            continue
        if not isinstance(row.rule.match_pattern, Broken):
            yield row, pattern, template


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
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders)', replace_pattern: 'FROM \1_v2'}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'LIMIT', negate_match_pattern: true, replace_pattern: 'LIMIT 9'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '^(SELECT (?!.* LIMIT ).*)$', replace_pattern: '\1 LIMIT 9'}
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
            yield Finding(_RULES, row.key, message, "replace_pattern", hint)
            break
    for row, _, _ in rewriting(subject):
        if row.rule and row.rule.negated:
            message = "a negated rule takes only queries in which there is nothing to replace"
            hint = "without negate_match_pattern, name what is to be replaced"
            yield Finding(_RULES, row.key, message, "replace_pattern", hint)


@check("PX402", "replacement-dollar", Severity.WARNING)
def dollar_groups(subject: Subject) -> Iterator[Finding]:
    r"""A replace_pattern with `$1`, as other tools write a group.

    ProxySQL writes a group as `\1`. `$1` stands for itself: the backend gets these two characters.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM $1_v2'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM (orders|items)', replace_pattern: 'FROM \1_v2'}
    ```
    """
    for row, _, template in rewriting(subject):
        found = _OTHER_DIALECT.search(template)
        if found and row.rule and row.rule.match_pattern and row.rule.match_pattern.groups:
            number = re.sub(r"\D", "", found[0])
            message = f"{found[0]} is no group here, but text that goes to the backend"
            yield Finding(_RULES, row.key, message, "replace_pattern", f"write \\{number}")
