"""PX104 not-in-digest-texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.patterns import Literals, is_pasted
from proxyctl.lint.subject import Subject
from proxyctl.routing.digest import DigestOptions


class Never(NamedTuple):
    """What no digest text contains, and the fix."""

    what: str
    hint: str


_VALUE = r"write \? for the value, or use match_pattern"
QUOTED = Never("a quoted text, where digest texts have `?`", _VALUE)
NUMBER = Never("a number, where digest texts have `?`", _VALUE)
COMMENT = Never("a comment, which digest texts lose", "use match_pattern")
SPACING = Never(
    "spaces that no digest text has",
    "write one space between words, none beside parentheses and commas, no line breaks",
)
END = Never("a `;` or a space at the end, which digest texts lose", "leave it out")
CAPITAL = Never(
    "capital letters, which mysql-query_digests_lowercase removes",
    "set re_modifiers: CASELESS, or write the pattern in lower case",
)
DIGIT = Never(
    "a digit, which mysql-query_digests_no_digits removes",
    r"write \? for it, or use match_pattern",
)


def why_never(literals: Literals, options: DigestOptions) -> Never | None:
    """Return what a pattern asks for that no digest text contains; None: it may match one.

    Text in `/*! ... */` is copied nearly as it is, and is not considered.
    Source: ProxySQL 2.7.1; the tests hold it against the digests of random queries.
    """
    runs, first, last = literals.runs, literals.first, literals.last
    number = r"(?<=[^\w$.])[0-9]+"
    asked = [
        (QUOTED, _has(r"['\"]", *runs)),
        (DIGIT, options.no_digits and _has(r"[0-9]", *runs)),
        (NUMBER, _has(number + r"(?=[^\w$.])", *runs) or _has(number + r"\Z", last)),
        (CAPITAL, options.lowercase and not literals.is_caseless and _has(r"[A-Z]", *runs)),
    ]
    if not options.keep_comment:
        begins = literals.is_anchored and first.startswith(" ")
        asked += [
            (COMMENT, _has(r"/\*|#", *runs)),
            (SPACING, begins or _has(r"[\t\r\n]| [ ),]|[(,] ", *runs)),
            (END, literals.is_closed and last.endswith((" ", ";"))),
        ]
    return next((never for never, is_asked in asked if is_asked), None)


def _has(what: str, *runs: str) -> bool:
    return any(re.search(what, run) for run in runs)


@check("PX104", "not-in-digest-texts", Severity.ERROR)
def not_in_digest_texts(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest that asks for what no digest text contains.

    A digest text has `?` for each quoted text and number; digits stay only inside a name, such as
    `sbtest42`. It has no comment (unless `mysql-query_digests_keep_comment` is on), no line break,
    no double space, no space inside of parentheses or beside a comma, and no `;` at the end. With
    `mysql-query_digests_lowercase` it has no capital letter, with `mysql-query_digests_no_digits`
    no digit. A rule that asks for one of these never matches.

    Write the pattern as the digest text is written, with `\?` for values, or use match_pattern.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'WHERE tenant_id = 42$', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_digest: '/\* report \*/', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: '^SELECT id, name FROM', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'WHERE tenant_id = 42\b', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_pattern: '/\* report \*/', destination_hostgroup: 2, apply: 1}
      - {rule_id: 30, match_digest: '^SELECT id,name FROM', destination_hostgroup: 2, apply: 1}
    ```
    """
    if not subject.variables.query_digests:
        return
    options = DigestOptions.from_variables(subject.configuration.all_variables())
    for row in subject.rule_rows:
        pattern = row.rule.match_digest if row.rule else None
        literals = None if pattern is None else subject.literals.get(pattern)
        never = why_never(literals, options) if literals else None
        if never is None or row.rule is None or is_pasted(row, "match_digest"):
            continue
        # `id = 42` matches `id = 42col`, which is a name to MySQL.
        hardly, nearly = ("hardly ever", "nearly every") if never is NUMBER else ("never", "every")
        effect = f"the rule {hardly} matches"
        if row.rule.negated:
            effect = f"negated, it matches {nearly} query"
        message = f"match_digest {row.shown('match_digest')} asks for {never.what}: {effect}"
        yield Finding(RULES, row.key, message, "match_digest", never.hint)
