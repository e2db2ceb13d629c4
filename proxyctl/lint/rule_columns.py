"""What ProxySQL makes of client_addr, digest and re_modifiers of a rule, where it misreads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from proxyctl.lint.finding import Finding
from proxyctl.lint.subject import RULES, RuleRow, Subject
from proxyctl.lint.wording import quoted
from proxyctl.state.cells import MODIFIERS, normal_digest, normal_modifiers
from proxyctl.state.runtime import client_addr_problem

_IGNORED = "has a word that ProxySQL ignores"
_ADDRESS = re.compile(r"[0-9A-Fa-f:.]*")
_DIGEST = re.compile(r"0[xX][0-9A-Fa-f]{1,16}\Z")


def address_problem(text: str) -> str | None:
    """Return why no client has this address; None if one may, or if ProxySQL drops the rule.

    Source: ProxySQL 2.7.1, run: it compares texts, and a client of the Unix socket is `localhost`.
    """
    if client_addr_problem(text) is not None:
        return None
    known = text.removesuffix("%")
    if _ADDRESS.fullmatch(known) or "localhost".startswith(known):
        return None
    return "is no address: ProxySQL compares it letter by letter, and the rule never matches"


def is_another_spelling(text: str) -> bool:
    """Return whether a digest is read as the number it shows, though it is not written as one.

    It stands between blanks, or is decimal.
    """
    return bool(re.fullmatch(r"\s*(0[xX][0-9A-Fa-f]{1,16}|[1-9][0-9]*)\s*", text))


def digest_problem(text: str) -> str | None:
    """Return what ProxySQL takes a digest for that is not written as one; None if it is right.

    '' is no criterion, and right.
    """
    if not text or (_DIGEST.match(text) and int(text, 16)):
        return None
    read = normal_digest(text)
    if read is not None:
        return f"is no digest as it is written: ProxySQL takes it for {read}"
    return "is no digest: ProxySQL drops the criterion, and the rule matches every query"


def modifiers_problem(text: str) -> str | None:
    """Return what ProxySQL makes of a word that is not one it knows; None if it knows them all."""
    for word in text.split(",") if text else ():
        if word.upper() in MODIFIERS:
            continue
        read = normal_modifiers(word)
        if not word.strip():
            return "has an empty word"
        return f"has a word that ProxySQL takes for {read}" if read else _IGNORED
    return None


def misread_cells(
    subject: Subject, column: str, problem_of: Callable[[str], str | None], hint: str
) -> Iterator[Finding]:
    """Yield the cells of a column that ProxySQL does not take as they are written."""
    for row in subject.rule_rows:
        text = row.text(column)
        problem = problem_of(text) if text is not None else None
        if problem is not None:
            message = f"{column} {quoted(cell_text(row, column))} {problem}"
            yield Finding(RULES, row.key, message, column, hint)


def cell_text(row: RuleRow, column: str) -> str:
    """Return the text of a cell, still a Secret if it is one."""
    value = row.cells[column]
    return value if isinstance(value, str) else str(value)
