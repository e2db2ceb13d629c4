"""The text of a statement as ProxySQL reads it: one statement, and bytes that are not UTF-8."""

from __future__ import annotations

import re

from proxyctl.sandbox.replies import not_modelled, refusal, sqlite_error

_TOKEN = re.compile(
    r"""'[^']*(?:''[^']*)*'
      | "[^"]*(?:""[^"]*)*"
      | `[^`]*`
      | \[[^\]]*\]
      | --[^\n]*
      | /\*.*?(?:\*/|\Z)
      | ;
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = ("--", "/*")
_BYTE = re.compile("[\udc80-\udcff]")
"""A byte that is not UTF-8, as surrogate escape."""


def normalised(sql: str) -> str:
    """Return the text in which ProxySQL looks for its own commands.

    Leading blanks and trailing semicolons and blanks are gone, runs of white space are one blank.
    """
    return re.sub(r"\s+", " ", sql.strip().rstrip("; \t\r\n"))


def single(sql: str) -> str:
    """Return the single statement of a text, without the semicolons at its end.

    Raises: AdminError for a text that would crash ProxySQL, or that it would drop or misread.
    """
    statement = sql.strip().rstrip("; \t\r\n")
    if not statement:
        if ";" in sql:
            raise refusal("refuses a text of only semicolons: it crashes ProxySQL")
        raise sqlite_error("not an error")
    if statement.startswith("/*!"):
        raise not_modelled("statements in comments such as /*!40101 ... */")
    first, *following = _parts(statement)
    if any(following):
        raise refusal(
            "refuses several statements in one text: ProxySQL runs only the first, misreads SHOW"
            " and SET there, and does not recognize LOAD or SAVE"
        )
    if not first:
        raise sqlite_error("not an error")
    return statement


def _parts(statement: str) -> list[str]:
    """Return the texts between the semicolons, without comments."""
    if ";" not in statement and not statement.startswith(_COMMENT):
        return [statement]
    parts = [""]
    position = 0
    for token in _TOKEN.finditer(statement):
        parts[-1] += statement[position : token.start()]
        position = token.end()
        if token[0] == ";":
            parts.append("")
        elif not token[0].startswith(_COMMENT):
            parts[-1] += token[0]
    parts[-1] += statement[position:]
    return [part.strip() for part in parts]


def without_surrogates(sql: str) -> str:
    """Return the statement with literals that are not UTF-8 written as bytes.

    Python hands SQLite only valid UTF-8, while ProxySQL stores whatever bytes a client sends.
    Raises: AdminError for such bytes outside a literal.
    """

    def as_bytes(token: re.Match[str]) -> str:
        text = token[0]
        if not text.startswith("'") or not _BYTE.search(text):
            return text
        raw = text[1:-1].replace("''", "'").encode("utf-8", "surrogateescape")
        return f"CAST(X'{raw.hex()}' AS TEXT)"

    if not _BYTE.search(sql):
        return sql
    changed = _TOKEN.sub(as_bytes, sql)
    if _BYTE.search(changed):
        raise refusal("refuses bytes that are not UTF-8 outside a literal")
    return changed
