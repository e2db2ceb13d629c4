"""Checks: criteria of a rule that ProxySQL does not take as they are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.rule_columns import (
    address_problem,
    digest_problem,
    is_another_spelling,
    modifiers_problem,
)
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.lint.wording import quoted
from proxyctl.runtime_image import client_addr_problem


@check("PX120", "digests-off", Severity.ERROR)
def digests_off(subject: Subject) -> Iterator[Finding]:
    """A rule with match_digest or digest while `mysql-query_digests` is false.

    Without digests ProxySQL skips match_digest: the rule then matches every query that its other
    criteria let through. What `digest` is compared with is left over from an earlier query.

    Turn the variable on, or use match_pattern.

    ```yaml
    # Bad: every query goes to 2.
    variables: {mysql-query_digests: false}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    variables: {mysql-query_digests: true}
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT ', destination_hostgroup: 2, apply: 1}
    ```
    """
    if subject.variables.query_digests:
        return
    for row in subject.rule_rows:
        if row.rule is None:
            continue
        if row.rule.match_digest is not None:
            message = "match_digest is skipped, since mysql-query_digests is false: it matches all"
            yield Finding(RULES, row.key, message, "match_digest", _ON)
        elif row.rule.digest is not None:
            message = "no query has a digest, since mysql-query_digests is false"
            yield Finding(RULES, row.key, message, "digest", _ON)


_ON = "mysql-query_digests: true, or match_pattern"


@check("PX121", "unknown-modifier", Severity.ERROR)
def unknown_modifier(subject: Subject) -> Iterator[Finding]:
    """A word in re_modifiers that ProxySQL does not know, or a blank beside one.

    It knows CASELESS and GLOBAL, with a comma and no blank between them, and ignores everything
    else. Of `CASELESS, GLOBAL` the second word is lost, of `caseles` all is, and the pattern is
    case-sensitive.

    Write `CASELESS`, `GLOBAL` or `CASELESS,GLOBAL`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'a+b', replace_pattern: ab, re_modifiers: 'CASELESS, GLOBAL'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'a+b', replace_pattern: ab, re_modifiers: 'CASELESS,GLOBAL'}
    ```
    """
    hint = "CASELESS, GLOBAL, or both with a comma and no blank between them"
    yield from _columns(subject, "re_modifiers", modifiers_problem, hint)


@check("PX122", "client-addr-in-vain", Severity.ERROR)
def client_addr_in_vain(subject: Subject) -> Iterator[Finding]:
    """A client_addr that no client has, or for which ProxySQL drops the whole rule.

    ProxySQL compares it with the client's address letter by letter. Only a `%` at the end is a
    wildcard: `10.0.0.0/8`, `10.0.0.*`, a range, a list or a host name never match. (A client of the
    Unix socket has the address `localhost`.) With a `%` elsewhere, or more than 45 characters, LOAD
    leaves the rule out without a word.

    Write the part of the address that is the same, and one `%`; or a rule for each address.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, client_addr: '10.%.0.5', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, client_addr: '10.0.0.0/8', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, client_addr: '10.0.0.%', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, client_addr: '10.%', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in subject.rule_rows:
        text = row.text("client_addr")
        problem = client_addr_problem(text)
        if problem is not None and text is not None:
            hint = "write one % at the end, or a rule for each address" if "%" in text else None
            message = f"client_addr {quoted(_value(row, 'client_addr'))}: {problem}"
            yield Finding(RULES, row.key, message, "client_addr", hint)
    hint = "only % at the end is a wildcard, as in 10.0.0.%"
    yield from _columns(subject, "client_addr", address_problem, hint)


@check("PX123", "digest-misspelt", Severity.ERROR)
def no_digest(subject: Subject) -> Iterator[Finding]:
    """A digest that ProxySQL reads as none, as another one, or does not show like this.

    ProxySQL reads it as C does: `0x` and hexadecimal digits. What it cannot read is no criterion:
    the rule then matches every query that its other criteria let through. Without `0x` the digits
    are read as decimal, as far as they go: `12AB` is 12.

    Copy it from stats_mysql_query_digest, `0x` included, and quote it in YAML.

    It is a warning where ProxySQL takes the digest for the number that it shows: in decimal, or
    with a blank beside it. Nobody finds it in stats_mysql_query_digest as it is written here.

    ```yaml
    # Bad: without 0x it cannot be read, and every query goes to 2.
    mysql_query_rules:
      - {rule_id: 10, digest: 'D7C9A2A3B4C5D6E7', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, digest: '0xD7C9A2A3B4C5D6E7', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, digest: '15549033229456532198', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, digest: '0xD7C94357028062E6', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in subject.rule_rows:
        text = row.text("digest")
        problem = None if text is None else digest_problem(text)
        if text is None or problem is None:
            continue
        severity = Severity.WARNING if is_another_spelling(text) else None
        message = f"digest {quoted(_value(row, 'digest'))} {problem}"
        yield Finding(RULES, row.key, message, "digest", _AS_SHOWN, severity=severity)


_AS_SHOWN = "as stats_mysql_query_digest shows it: 0x and up to 16 hexadecimal digits, not all 0"


def _columns(
    subject: Subject, column: str, problem_of: Callable[[str], str | None], hint: str
) -> Iterator[Finding]:
    for row in subject.rule_rows:
        text = row.text(column)
        problem = problem_of(text) if text is not None else None
        if problem is not None:
            message = f"{column} {quoted(_value(row, column))} {problem}"
            yield Finding(RULES, row.key, message, column, hint)


def _value(row: RuleRow, column: str) -> str:
    """Return the text of a cell, still a Secret if it is one."""
    value = row.cells[column]
    return value if isinstance(value, str) else str(value)
