"""Checks: patterns that match no digest text."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.digest_texts import Kind
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.patterns_pasted import is_pasted
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.lint.wording import quoted


@check("PX104", "value-in-match-digest", Severity.ERROR)
def value_in_match_digest(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest that asks for a number or a quoted text.

    match_digest sees the digest text, in which each value is a `?`: `WHERE id = 42` is
    `WHERE id = ?` there. The rule hardly ever matches: only digits that are part of a word stay, as
    in `sbtest42` or `42col`, and what stands in `/*! ... */`.

    Match `\?`, or use match_pattern if the rule is about certain values.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'WHERE tenant_id = 42$', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'WHERE tenant_id = 42\b', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in _rows(subject, Kind.QUOTED):
        message = "asks for a quoted text, and digest texts have `?` in its place"
        yield _finding(row, message, r"write \? for the value, or use match_pattern")
    for row in _rows(subject, Kind.NUMBER):
        message = "asks for a number, and digest texts have `?` in its place"
        hint = r"write \? for the value, or use match_pattern"
        # `id = 42` matches `id = 42col`, which is a name to MySQL.
        yield _finding(row, message, hint, never="hardly ever", every="nearly every")


@check("PX105", "comment-in-match-digest", Severity.ERROR)
def comment_in_match_digest(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest that asks for a comment.

    Comments are left out of the digest text, unless `mysql-query_digests_keep_comment` is on. The
    rule never matches.

    Use match_pattern, or turn keep_comment on. That changes every digest, and `^SELECT` then misses
    queries that begin with a comment.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '/\* report \*/', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: '/\* report \*/', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in _rows(subject, Kind.COMMENT):
        message = "asks for a comment, and digest texts have none"
        yield _finding(row, message, "use match_pattern")


@check("PX106", "spacing-in-match-digest", Severity.ERROR)
def spacing_in_match_digest(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest that asks for blanks that no digest text has.

    A digest text has no line break and no tab, one blank where the query has many, none at the
    beginning and the end, none behind `(`, before `)` and around `,`; a `;` at the end is dropped.
    The rule never matches. (A sign that is dropped can leave a blank behind: `(- a)` is `( a)`.)

    Write the pattern as the digest text is written: `SELECT a,b FROM t`, not `SELECT a, b FROM t`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT id, name FROM', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT id,name FROM', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in _rows(subject, Kind.SPACING):
        message = "asks for blanks that no digest text has"
        hint = "one blank between words, none beside parentheses and commas, no line breaks"
        yield _finding(row, message, hint)
    for row in _rows(subject, Kind.END):
        message = "asks for a `;` or a blank at the end, which digest texts lose"
        yield _finding(row, message, "leave it out")


@check("PX107", "capitals-in-match-digest", Severity.ERROR)
def capitals_in_match_digest(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest with capital letters while digest texts are in lower case.

    With `mysql-query_digests_lowercase` all digest texts are lower-cased, and without
    `re_modifiers: CASELESS`, which is the default, a pattern with capitals never matches.

    Write the pattern in lower case, or leave re_modifiers at its default.

    ```yaml
    # Bad
    variables: {mysql-query_digests_lowercase: true}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT', re_modifiers: '', destination_hostgroup: 2}
    ```

    ```yaml
    # Good
    variables: {mysql-query_digests_lowercase: true}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT', re_modifiers: CASELESS, destination_hostgroup: 2}
    ```
    """
    for row in _rows(subject, Kind.CASE):
        message = "asks for capital letters, and mysql-query_digests_lowercase leaves none"
        yield _finding(row, message, "re_modifiers: CASELESS, or a pattern in lower case")


@check("PX108", "digits-in-match-digest", Severity.ERROR)
def digits_in_match_digest(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest with digits while digest texts have none.

    With `mysql-query_digests_no_digits` the digits in names are a `?` as well: `sbtest42` is
    `sbtest?`. A pattern that asks for a digit never matches.

    Match `\?`, use match_pattern, or turn the variable off.

    ```yaml
    # Bad
    variables: {mysql-query_digests_no_digits: true}
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'FROM sbtest42\b', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    variables: {mysql-query_digests_no_digits: true}
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'FROM sbtest42\b', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in _rows(subject, Kind.DIGIT):
        message = "asks for a digit, and mysql-query_digests_no_digits leaves none"
        yield _finding(row, message, r"write \? for it, or use match_pattern")


def _rows(subject: Subject, kind: Kind) -> Iterator[RuleRow]:
    for row in subject.rule_rows:
        if row.rule is None or subject.out_of_reach.get(row.rule.rule_id) is not kind:
            continue
        if not is_pasted(row, "match_digest"):
            yield row


def _finding(
    row: RuleRow, message: str, hint: str, *, never: str = "never", every: str = "every"
) -> Finding:
    text = row.cells["match_digest"]
    is_negated = row.rule is not None and row.rule.negated
    effect = f"negated, it fits {every} query" if is_negated else f"the rule {never} matches"
    return Finding(
        RULES,
        row.key,
        f"match_digest {quoted(text if isinstance(text, str) else '')} {message}: {effect}",
        "match_digest",
        hint=hint,
    )
