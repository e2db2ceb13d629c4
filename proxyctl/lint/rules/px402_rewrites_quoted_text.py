"""PX402 rewrites-quoted-text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from operator import itemgetter

from proxyctl.lint.check import check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject
from proxyctl.routing.regex import Broken, RegexEngine
from proxyctl.routing.regex.pattern import as_bytes
from proxyctl.routing.regex.samples import samples
from proxyctl.routing.rule import Rule
from proxyctl.rows.row import Secret

_MOST_SAMPLES = 20
_ONE_WORD = re.compile(r"[^\s'\"`]+")
_NAME = re.compile(rb"[\w$-]+")
_NAMES = re.compile(rb"[\w$.-]+")
_EVEN_QUOTES = "(?=(?:[^'\"`]*['\"`][^'\"`]*['\"`])*+[^'\"`]*$)"
"""`*+` gives nothing back, so PCRE does not recurse: it takes 200,000 values, `*` ends ProxySQL at
2,500. Source: 2.7.1 and 3.0.3, run."""


@check("PX402", "rewrites-quoted-text", Severity.WARNING, pgsql=True)
def rewrites_quoted_text(subject: LintSubject) -> Iterator[Finding]:
    r"""A rewrite of a word that also changes values and quoted names with the word.

    ProxySQL replaces text wherever match_pattern matches, and does not know what a quote is.
    Putting the column `rank` into backticks also changes the value `'rank and file'`, and doubles
    the backticks of a name that has them, which is a syntax error.

    Match words around it that no value has, such as `(FROM|JOIN) orders`; the check reports only
    patterns that match a single word. Or let an even number of quotes follow, which PCRE can
    require.

    ```yaml
    # Bad
    mysql_query_rules:
      - {rule_id: 1, match_pattern: '\brank\b', replace_pattern: '`rank`',
         re_modifiers: GLOBAL}
      - {rule_id: 2, match_pattern: '\borders\b', replace_pattern: 'orders_v2'}
    ```

    ```yaml
    # Good
    mysql_query_rules:
      - rule_id: 1
        match_pattern: '\brank\b(?=(?:[^''"`]*[''"`][^''"`]*[''"`])*+[^''"`]*$)'
        replace_pattern: '`rank`'
        re_modifiers: GLOBAL
      - {rule_id: 2, match_pattern: '\b(FROM|JOIN) orders\b',
         replace_pattern: '\1 orders_v2'}
    ```
    """
    quote = subject.dialect.quote
    for row in subject.rule_rows:
        rule, pattern = row.rule, row.text("match_pattern")
        if (
            rule is None
            or pattern is None
            or rule.negated
            or isinstance(rule.match_pattern, Broken)
        ):
            continue
        words = filter(_ONE_WORD.fullmatch, samples(pattern, limit=_MOST_SAMPLES))
        found = ((word, _changes(rule, as_bytes(word), quote)) for word in words)
        word, changes = next(filter(itemgetter(1), found), ("", []))
        if changes:
            message = f"it also changes text in quotes: {', and '.join(changes)}"
            if any(isinstance(row.cells[name], Secret) for name in _CELLS):
                message = "it also changes text in quotes"
            renamed = rule.rewritten(as_bytes(word)) or b""
            fix = "match the words around it as well"
            if _NAMES.fullmatch(renamed):
                fix += ", such as `(FROM|JOIN) orders` for a table"
            elif subject.engine is not RegexEngine.RE2:
                fix = (
                    f"append {_EVEN_QUOTES} to match_pattern: an even number of quotes must follow"
                )
            yield subject.rule_finding(row.key, message, "match_pattern", fix)


_CELLS = ("match_pattern", "replace_pattern")


def _changes(rule: Rule, word: bytes, quote: bytes) -> list[str]:
    """Return what becomes of a value with the word and of a quoted name, where that is wrong."""
    value = b"'a %b b'" % word
    changed = _rewritten_inside(rule, value)
    changes = [] if changed is None else [_becomes(value, changed)]
    name = quote + word + quote
    changed = _rewritten_inside(rule, name) if _NAME.fullmatch(word) else None
    if changed is not None and not _NAME.fullmatch(changed[1:-1]):
        changes.append(_becomes(name, changed))
    return changes


def _rewritten_inside(rule: Rule, quoted: bytes) -> bytes | None:
    """Return a quoted text as the rule rewrites it; None if it does not change between the quotes.

    Without `GLOBAL` only the first match is replaced.
    """
    spans = None if rule.match_pattern is None else rule.match_pattern.search(quoted)
    if spans is None or spans[0][0] < 1 or spans[0][1] >= len(quoted):
        return None
    changed = rule.rewritten(quoted)
    return None if changed == quoted else changed


def _becomes(before: bytes, after: bytes) -> str:
    return " becomes ".join(text.decode("utf-8", "replace") for text in (before, after))
