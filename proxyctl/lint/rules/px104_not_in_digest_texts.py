"""PX104 not-in-digest-texts."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.digest_texts import Kind
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.pasted_digests import is_pasted
from proxyctl.lint.subject import RULES, Subject
from proxyctl.lint.wording import quoted

_VALUE = r"write \? for the value, or use match_pattern"

_WHY = {
    Kind.QUOTED: ("asks for a quoted text, and digest texts have `?` in its place", _VALUE),
    Kind.NUMBER: ("asks for a number, and digest texts have `?` in its place", _VALUE),
    Kind.COMMENT: ("asks for a comment, and digest texts have none", "use match_pattern"),
    Kind.SPACING: (
        "asks for blanks that no digest text has",
        "one blank between words, none beside parentheses and commas, no line breaks",
    ),
    Kind.END: ("asks for a `;` or a blank at the end, which digest texts lose", "leave it out"),
    Kind.CASE: (
        "asks for capital letters, and mysql-query_digests_lowercase leaves none",
        "re_modifiers: CASELESS, or a pattern in lower case",
    ),
    Kind.DIGIT: (
        "asks for a digit, and mysql-query_digests_no_digits leaves none",
        r"write \? for it, or use match_pattern",
    ),
}
"""What is wrong, and the way out."""


@check("PX104", "not-in-digest-texts", Severity.ERROR)
def not_in_digest_texts(subject: Subject) -> Iterator[Finding]:
    r"""A match_digest that asks for what no digest text has.

    match_digest sees the digest text. The rule never matches if its pattern asks for

    - a quoted text or a number: each value is a `?` there. Digits stay only as part of a word, as
      in `sbtest42` or `42col`, and in `/*! ... */`, so a number hardly ever matches;
    - a comment, unless `mysql-query_digests_keep_comment` is on;
    - a line break, a tab, two blanks, a blank at either end, behind `(`, before `)` or beside `,`,
      or a `;` at the end. (A sign that is dropped can leave a blank behind: `(- a)` is `( a)`.)
    - a capital letter without CASELESS, with `mysql-query_digests_lowercase`;
    - a digit, with `mysql-query_digests_no_digits`: `sbtest42` is `sbtest?` then.

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
    for row in subject.rule_rows:
        if row.rule is None or is_pasted(row, "match_digest"):
            continue
        kind = subject.out_of_reach.get(row.rule.rule_id)
        if kind is None:
            continue
        message, hint = _WHY[kind]
        # `id = 42` matches `id = 42col`, which is a name to MySQL.
        never, every = (
            ("hardly ever", "nearly every") if kind is Kind.NUMBER else ("never", "every")
        )
        effect = (
            f"negated, it fits {every} query" if row.rule.negated else f"the rule {never} matches"
        )
        text = row.cells["match_digest"]
        shown = quoted(text if isinstance(text, str) else "")
        found = f"match_digest {shown} {message}: {effect}"
        yield Finding(RULES, row.key, found, "match_digest", hint)
