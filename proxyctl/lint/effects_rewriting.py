r"""Rules that write queries anew, and do not, or so that other rules miss them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from proxyctl.lint.effects_misses import missed_digests, missed_patterns
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RuleRow, Subject
from proxyctl.lint.wording import quoted
from proxyctl.regex import Engine
from proxyctl.routing.patterns import Broken
from proxyctl.state import Secret

_RULES = "mysql_query_rules"
_REFERENCE = re.compile(r"\\(.?)", re.DOTALL)
_OTHER_DIALECT = re.compile(r"\$\d|\$\{\d")
_WORDS = re.compile(r"[A-Za-z]{2}")
_ESCAPE = re.compile(r"\\.", re.DOTALL)
_GROUP = re.compile(r"(?<!\\)\((?!\?)[^()\\]*\)(?![*+?{])")
"""A group that holds no other, and is there once."""

_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


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


@check("PX403", "replacement-same", Severity.WARNING)
def same_again(subject: Subject) -> Iterator[Finding]:
    r"""A replace_pattern that writes what was there before.

    The pattern is plain text or groups, and the replacement is the same. The rule costs time, and
    later rules meet the query as it was.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: '\0'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: '\0 FORCE INDEX (day)'}
    ```
    """
    for row, pattern, template in rewriting(subject):
        # With CASELESS the same letters may be meant to come out in one case.
        exact = row.rule is not None and "CASELESS" not in (row.text("re_modifiers") or "")
        between = _GROUP.split(pattern)
        plain = _ESCAPE.sub("", "".join(between).removeprefix("^").removesuffix("$"))
        has_letter_escape = re.search(r"\\[A-Za-z0-9]", "".join(between))
        is_plain = not _SPECIAL.search(plain) and not has_letter_escape
        is_same = is_plain and _as_it_is(between) == template
        if template == r"\0" or (is_same and (exact or not _WORDS.search(plain))):
            message = "writes what match_pattern matched; the query stays as it is"
            yield Finding(_RULES, row.key, message, "replace_pattern")


def _as_it_is(between: Sequence[str]) -> str:
    """Return the replacement that writes the texts between groups, and the groups, as they are."""
    texts = [*between]
    texts[0] = texts[0].removeprefix("^")
    texts[-1] = texts[-1].removesuffix("$")
    texts = [re.sub(r"\\(.)", r"\1", text) for text in texts]
    groups = [rf"\{number}" for number in range(1, len(texts))]
    return "".join(text + group for text, group in zip_longest(texts, groups, fillvalue=""))


@check("PX404", "negated-rewriting", Severity.ERROR)
def negated(subject: Subject) -> Iterator[Finding]:
    r"""A rule with negate_match_pattern and replace_pattern.

    It takes the queries that match_pattern does not match, and then looks for match_pattern in
    them. There is nothing to replace, ever.

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
    for row, _, _ in rewriting(subject):
        if row.rule and row.rule.negated:
            message = "a negated rule takes only queries in which there is nothing to replace"
            hint = "without negate_match_pattern, name what is to be replaced"
            yield Finding(_RULES, row.key, message, "replace_pattern", hint)


@check("PX405", "re2-replaces-by-case", Severity.WARNING)
def by_case(subject: Subject) -> Iterator[Finding]:
    """Under RE2, a rule with CASELESS matches in any case, and replaces in one.

    With `mysql-query_processor_regex: 2` ProxySQL looks for the pattern once more when it replaces,
    and forgets CASELESS. A query in other letters counts as a hit and stays as it is. `(?i)` in
    front of the pattern holds for both.

    ```yaml
    # Bad
    variables: {mysql-query_processor_regex: 2}
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'from orders', replace_pattern: 'FROM orders_v2'}
    ```

    ```yaml
    # Good
    variables: {mysql-query_processor_regex: 2}
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '(?i)from orders', replace_pattern: 'FROM orders_v2'}
    ```
    """
    if subject.engine is not Engine.RE2:
        return
    for row, pattern, _ in rewriting(subject):
        is_caseless = "CASELESS" in (row.text("re_modifiers") or "").upper()
        letters = re.search(r"[A-Za-z]", _ESCAPE.sub("", pattern))
        if is_caseless and letters and not re.match(r"\(\?[a-zA-Z]*i", pattern):
            message = "RE2 matches in any case here, but replaces only where the case is the same"
            yield Finding(_RULES, row.key, message, "re_modifiers", "put (?i) before match_pattern")


@check("PX406", "rewritten-before", Severity.WARNING)
def missed_by_pattern(subject: Subject) -> Iterator[Finding]:
    r"""An earlier rule rewrites what a later match_pattern was written for.

    match_pattern sees the query as the rules before have left it. Texts for the later pattern are
    made up and sent along the rules: every one of them meets a rule that rewrites it, and none
    reaches the later rule. Write that pattern for the new text, or put the rule first.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '\borders\b', replace_pattern: 'sales', re_modifiers: 'CASELESS,GLOBAL'}
      - {rule_id: 2, match_pattern: 'FROM orders', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '\borders\b', replace_pattern: 'sales', re_modifiers: 'CASELESS,GLOBAL'}
      - {rule_id: 2, match_pattern: 'FROM sales', destination_hostgroup: 20, apply: true}
    ```
    """  # noqa: E501 - a rule stays on its line
    for row, by, text in missed_patterns(subject):
        message = f"rule {by} has rewritten what this is for, such as {quoted(text)}"
        hint = f"write it for what rule {by} makes, or put it before rule {by}"
        yield Finding(_RULES, row.key, message, "match_pattern", hint)


@check("PX407", "digest-before-rewriting", Severity.WARNING)
def missed_by_digest(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest for a text that only an earlier rewriting makes.

    match_digest and digest always see the query as the client sent it, match_pattern the rewritten
    one. A word that the replacement brings in is in no digest, unless clients send it, too.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: 'FROM sales'}
      - {rule_id: 2, match_digest: 'FROM sales', destination_hostgroup: 20, apply: true}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 1, match_pattern: 'FROM orders', replace_pattern: 'FROM sales'}
      - {rule_id: 2, match_pattern: 'FROM sales', destination_hostgroup: 20, apply: true}
    ```
    """
    for row, by, word in missed_digests(subject):
        message = f"rule {by} brings {quoted(word)} in, and match_digest sees the query before that"
        hint = "match_pattern sees the rewritten query"
        yield Finding(_RULES, row.key, message, "match_digest", hint)
