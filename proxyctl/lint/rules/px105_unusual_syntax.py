"""PX105 unusual-syntax."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import RULES, Subject


@check("PX105", "unusual-syntax", Severity.NOTE)
def unusual_syntax(subject: Subject) -> Iterator[Finding]:
    r"""A pattern whose syntax is unusual: what proxyctl says of it is not verified.

    ProxySQL matches with PCRE 8, proxyctl with PCRE2. The two agree on what most rules have:
    words, `.`, `\d`, simple brackets, groups, look-ahead, quantifiers. They may differ for
    look-behind, named groups, back references, conditions, verbs and other rare syntax. So
    `explain`, `test`, `replay` and other checks may be wrong about such a rule.

    Try the rule on a ProxySQL, or write the pattern more plainly.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '(?<=FROM )orders\b', destination_hostgroup: 2, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: 'FROM orders\b', destination_hostgroup: 2, apply: 1}
    ```
    """
    for row in subject.rule_rows:
        for column in row.rule.unverified if row.rule else ():
            message = f"{column} has unusual syntax: not verified against {subject.engine}"
            yield Finding(RULES, row.key, message, column)
