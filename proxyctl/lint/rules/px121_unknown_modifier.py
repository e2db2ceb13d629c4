"""PX121 unknown-modifier."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.proxysql.cells import MODIFIERS_FIX, modifiers_problem


@check("PX121", "unknown-modifier", Severity.ERROR, pgsql=True)
def unknown_modifier(subject: LintSubject) -> Iterator[Finding]:
    """A word in re_modifiers that ProxySQL does not know.

    ProxySQL knows CASELESS and GLOBAL, with a comma and no space between them, and ignores
    everything else. In `CASELESS, GLOBAL` the second word is lost. With `caseles` the pattern is
    case-sensitive.

    Write `CASELESS`, `GLOBAL` or `CASELESS,GLOBAL`.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'a+b', replace_pattern: ab,
         re_modifiers: 'CASELESS, GLOBAL'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - {rule_id: 10, match_pattern: 'a+b', replace_pattern: ab,
         re_modifiers: 'CASELESS,GLOBAL'}
    ```
    """
    for row in subject.rule_rows:
        problem = modifiers_problem(row.text("re_modifiers") or "")
        if problem is not None:
            message = f"re_modifiers {row.shown('re_modifiers')}: {problem}"
            yield subject.rule_finding(row.key, message, "re_modifiers", MODIFIERS_FIX)
