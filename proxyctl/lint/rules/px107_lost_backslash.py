"""PX107 lost-backslash."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import SEVERITIES, Finding, Severity
from proxyctl.lint.rules.px104_not_in_digest_texts import effect_text
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.criteria import Effect


@check("PX107", "lost-backslash", Severity.ERROR, pgsql=True)
def lost_backslash(subject: LintSubject) -> Iterator[Finding]:
    r"""A pattern whose backslashes were doubled, or replaced by control characters.

    In single quotes YAML keeps a backslash as it is: `'\\s'` is two backslashes and an s, a pattern
    that requires a backslash in the query. In double quotes YAML reads `"\b"` as a backspace. No
    query has either outside of quotes. In a match_pattern a doubled backslash is a warning, because
    quoted text may contain one.

    Write patterns in single quotes, with one backslash.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT\\s.*\\bt1\\b', destination_hostgroup: 2,
         apply: 1}
      - {rule_id: 20, match_pattern: '\\/\\*.*shard=0', destination_hostgroup: 3, apply: 1}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_digest: '^SELECT\s.*\bt1\b', destination_hostgroup: 2, apply: 1}
      - {rule_id: 20, match_pattern: '\/\*.*shard=0', destination_hostgroup: 3, apply: 1}
    ```
    """
    for row in subject.rule_rows:
        for column, _ in row.patterns:
            flaw = subject.criteria.escape(row.cells, column)
            if flaw is None or (row.rule and column in row.rule.broken):
                continue
            message = f"{column} {row.shown(column)} {flaw.problem}"
            if flaw.effect is not Effect.DOUBTFUL:
                message += f": {effect_text(row, flaw.effect)}"
            severity = SEVERITIES[flaw.effect]
            yield subject.rule_finding(row.key, message, column, flaw.fix, severity=severity)
