"""PX109 longer-names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.lint.table_names import lone_name, names_in, open_name
from proxyctl.lint.wording import quoted
from proxyctl.state.row import Secret

_NUMBER = re.compile(r"[=<>(,](?: |\\s[+*]?)*[0-9]+\Z")


@check("PX109", "longer-names", Severity.WARNING)
def longer_names(subject: Subject) -> Iterator[Finding]:
    r"""A pattern that ends with the name of a table or a number, and also matches longer ones.

    A pattern may match anywhere: `FROM sbtest1` is also in `FROM sbtest10` and `FROM sbtest1_old`.
    The query on the other table goes where it should not. `.*` behind the name does not end it. A
    word that is all of a pattern counts as a name if it ends with a digit, or if another pattern
    has a longer name that begins with it. Nothing is said of names that end with `_`.

    The same holds for a match_pattern that ends with a number: `user_id = 1` is also in
    `user_id = 10`.

    End the name: `\b`, or `( |$)` where a name may hold `$`. If all the names are meant, ignore the
    finding for this rule.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .* FROM sbtest1', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT .* FROM sbtest1\b', destination_hostgroup: 2, apply: 1}
    ```
    """
    named = subject.once(_names)
    for row, column, text in _patterns(subject):
        if column == "match_pattern" and _NUMBER.search(text):
            message = "match_pattern ends with a number, and matches longer numbers too"
            yield Finding(RULES, row.key, message, column, hint=r"end it with \b")
            continue
        found = open_name(text) or lone_name(text, named)
        if found is None:
            continue
        name, longer = quoted(_shown(row, column, found.name)), found.name + "0"
        what = f"{column} ends with a name" if found.is_last else f"nothing ends a name in {column}"
        message = f"{what}: it matches {name}, and {quoted(_shown(row, column, longer))} too"
        hint = r"end it with \b"
        if not found.is_last and not isinstance(row.cells[column], Secret):
            hint = rf"write {found.name}\b"
        yield Finding(RULES, row.key, message, column, hint)


def _names(subject: Subject) -> Sequence[str]:
    """Return the words of all patterns, sorted."""
    return sorted({name for _, _, text in _patterns(subject) for name in names_in(text)})


def _shown(row: RuleRow, column: str, name: str) -> str:
    """Return a name of a pattern; a Secret if the pattern is one."""
    return Secret(name) if isinstance(row.cells[column], Secret) else name


def _patterns(subject: Subject) -> Iterator[tuple[RuleRow, str, str]]:
    """Yield the patterns of rules that compile and choose by them."""
    for row in subject.rule_rows:
        for column in ("match_digest", "match_pattern"):
            text = row.text(column)
            is_asked = column == "match_pattern" or subject.variables.query_digests
            if text and is_asked and row.rule is not None and column not in row.rule.broken:
                yield row, column, text
