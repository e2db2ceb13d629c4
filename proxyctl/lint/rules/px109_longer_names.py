"""PX109 longer-names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity, cases_of, quoted
from proxyctl.lint.patterns import is_sql_word
from proxyctl.lint.subject import LintSubject, RuleRow
from proxyctl.rows.row import Secret

_NUMBER = re.compile(r"[=<>(,](?: |\\s[+*]?)*[0-9]+\Z")
_NAME = re.compile(r"(?<!\w)[A-Za-z_]\w{0,63}(?!\w)")
"""A word that can be the name of a table."""
_OPEN = re.compile(
    r"""(?: \A (?: \[[^\]]*\] | [^\w\[] )* (?: \w+\W*\.\W* )?
          | \b (?: FROM | INTO | UPDATE | JOIN | TABLE ) \W+ (?: \w+[^\w\s]+ )*? )
        \b (?P<name> [A-Za-z_]\w* ) (?: `\? )? \)* (?: \Z | \.[*+] )""",
    re.VERBOSE | re.IGNORECASE,
)
"""A table's name that has no end: the pattern ends with it, or any text may follow."""

_SQL_WITH_DIGIT = re.compile(
    r"sha[12]|md5|crc32|log2|log10|atan2|ucs2|utf\d+\w*|latin\d+|int\d|float\d", re.IGNORECASE
)


@check("PX109", "longer-names", Severity.WARNING, pgsql=True)
def longer_names(subject: LintSubject) -> Iterator[Finding]:
    r"""A pattern that names a table and also matches the longer names of other tables.

    A pattern matches anywhere: `FROM sbtest1` is also in `FROM sbtest10`, whose queries then go
    where they should not. `.*` after the name does not end it. A name is reported if it ends with
    a digit, or if a later rule names a longer one. A match_pattern that ends with a number is
    also reported: `user_id = 1` is also in `user_id = 10`.

    End the name with `\b`, or ignore the finding for this rule if it is also meant for the longer
    names.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .* FROM sbtest1', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 20, match_digest: 'FROM orders', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: 'FROM orders_archive\b', destination_hostgroup: 3,
         apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .* FROM sbtest1\b', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 20, match_digest: 'FROM wp_user', destination_hostgroup: 2, apply: 1}
    ```
    """
    later: dict[str, str] = {}
    """Each name of the rules behind, by each of its beginnings."""
    for row in reversed(subject.rule_rows):
        patterns = list(_patterns(subject, row))
        for column, text, plain in patterns:
            table = _OPEN.search(plain)
            longer = table and _longer(table["name"], later)
            if column == "match_pattern" and _NUMBER.search(text):
                message = "match_pattern ends with a number, so it also matches longer numbers"
                yield subject.rule_finding(row.key, message, column, r"end it with \b")
            elif table and longer:
                name, fix = table["name"], rf"write {table['name']}\b"
                cases = cases_of(row.key, [f"{name} {longer}"])
                if isinstance(row.cells[column], Secret):
                    name, longer, fix = Secret(name), Secret(longer), r"end the name with \b"
                message = f"{column} matches {quoted(name)}, and also {quoted(longer)}"
                yield subject.rule_finding(row.key, message, column, fix, cases=cases)
        for column, _, plain in patterns:
            text_type = Secret if isinstance(row.cells[column], Secret) else str
            for name in map(text_type, _NAME.findall(plain)):
                later |= {name[:end].lower(): name for end in range(1, len(name))}


def _longer(name: str, later: dict[str, str]) -> str | None:
    """Return a longer name that a pattern with `name` at its end also matches, by mistake."""
    if is_sql_word(name) or _SQL_WITH_DIGIT.fullmatch(name):
        return None
    # `FROM archive_` is meant for all names that begin so.
    if name.endswith("_"):
        return None
    return name + "0" if name[-1].isdigit() else later.get(name.lower())


def _patterns(subject: LintSubject, row: RuleRow) -> Iterator[tuple[str, str, str]]:
    """Yield the patterns of a rule in use as (column, text, text without escapes)."""
    for column, text in row.patterns:
        is_used = column == "match_pattern" or subject.variables.query_digests
        if is_used and row.rule is not None and column not in row.rule.broken:
            # The `b` of `\b` is no part of a name.
            yield column, text, re.sub(r"\\[A-Za-z]", " ", text)
