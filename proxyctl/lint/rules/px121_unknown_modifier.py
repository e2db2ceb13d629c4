"""PX121 unknown-modifier."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.lint.check import RULES, Finding, Severity, check
from proxyctl.lint.subject import Subject
from proxyctl.state.cells import MODIFIERS, normal_modifiers


@check("PX121", "unknown-modifier", Severity.ERROR)
def unknown_modifier(subject: Subject) -> Iterator[Finding]:
    """A word in re_modifiers that ProxySQL does not know.

    ProxySQL knows CASELESS and GLOBAL, with a comma and no space between them, and ignores
    everything else. In `CASELESS, GLOBAL` the second word is lost. With `caseles` the pattern is
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
    for row in subject.rule_rows:
        problem = _problem(row.text("re_modifiers") or "")
        if problem is not None:
            message = f"re_modifiers {row.shown('re_modifiers')} {problem}"
            fix = "write CASELESS, GLOBAL, or both with a comma and no space between them"
            yield Finding(RULES, row.key, message, "re_modifiers", fix)


def _problem(text: str) -> str | None:
    """Return what ProxySQL makes of the first word that it does not know."""
    for word in text.split(",") if text else ():
        if word.upper() in MODIFIERS:
            continue
        read = normal_modifiers(word)
        if not word.strip():
            return "has an empty word"
        return f"has a word that ProxySQL reads as {read}" if read else "has an unknown word"
    return None
