"""PX121 unknown-modifier."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.rule_columns import (
    misread_cells,
    modifiers_problem,
)
from proxyctl.lint.subject import Subject


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
    yield from misread_cells(subject, "re_modifiers", modifiers_problem, hint)
