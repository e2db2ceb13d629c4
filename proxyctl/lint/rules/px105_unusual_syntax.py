"""PX105 unusual-syntax."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject


@check("PX105", "unusual-syntax", Severity.NOTE, pgsql=True)
def unusual_syntax(subject: LintSubject) -> Iterator[Finding]:
    r"""A pattern with rare syntax, for which proxyctl's answers are not verified.

    ProxySQL before 3.0.12 matches with PCRE 8, proxyctl with PCRE2. The two agree on what most
    rules contain: words, `.`, `\d`, simple brackets, groups, look-ahead, quantifiers. They may
    differ for look-behind, named groups, back references, conditions, verbs and other rare syntax.
    `explain`, `test`, `replay` and other checks may then be wrong about the rule.

    Try the rule on a ProxySQL, or write a simpler pattern.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '(?<=FROM )orders\b', destination_hostgroup: 2,
         apply: 1}
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
            yield subject.rule_finding(row.key, message, column)
