"""Reading a statement as text, before SQLite sees it.

This is a scanner for quotes and comments, not a parser: the meaning is SQLite's business.
"""

from __future__ import annotations

import re

from proxyctl.sandbox.replies import AdminError, not_modelled, refusal, sqlite_error

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
_TRANSACTION = re.compile(r"(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b", re.I)
_TRIGGER = re.compile(r"CREATE\s+(TEMP\s+|TEMPORARY\s+)?TRIGGER\b", re.IGNORECASE)


def normalised(sql: str) -> str:
    """Return the text in which ProxySQL looks for its own commands.

    Leading blanks and trailing semicolons and blanks are gone, runs of white space are one blank.
    """
    return re.sub(r"\s+", " ", sql.strip().rstrip("; \t\r\n"))


def single(sql: str) -> str:
    """Return the one statement of a text, without the semicolons behind it.

    Raises: AdminError for what would crash ProxySQL, open a transaction or be dropped in silence.
    """
    statement = sql.strip().rstrip("; \t\r\n")
    if not statement:
        if ";" in sql:
            raise refusal("refuses a text of semicolons only: it crashes ProxySQL")
        raise sqlite_error("not an error")
    found = _TRANSACTION.match(statement)
    if found:
        raise transaction_refusal(" ".join(found[1].upper().split()))
    if "\0" in statement:
        raise refusal("refuses a NUL character: the rest of the statement would be dropped")
    if _TRIGGER.match(statement):
        raise not_modelled("CREATE TRIGGER")
    if statement.startswith("/*!"):
        raise not_modelled("statements in comments such as /*!40101 ... */")
    first, *rest = _parts(statement)
    if any(rest):
        raise refusal(
            "refuses several statements in one text: ProxySQL runs only the first, mistakes a SHOW"
            " or SET in it, and knows no LOAD or SAVE there"
        )
    if not first:
        raise sqlite_error("not an error")
    return statement


def _parts(statement: str) -> list[str]:
    """Return what stands between the semicolons, comments left out."""
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


def transaction_refusal(word: str) -> AdminError:
    """Return the error for a statement that begins or ends a transaction."""
    return refusal(
        f"refuses {word}: ProxySQL has no transactions for clients;"
        " it swallows the statement or wedges the admin interface for everybody"
    )


def without_surrogates(sql: str) -> str:
    """Return the statement with literals that are not UTF-8 written as bytes.

    Python hands SQLite only valid UTF-8, while ProxySQL stores whatever bytes a client sends.
    Raises: AdminError when such bytes stand outside a literal.
    """

    def as_bytes(token: re.Match[str]) -> str:
        text = token[0]
        if not text.startswith("'") or _is_utf8(text):
            return text
        raw = text[1:-1].replace("''", "'").encode("utf-8", "surrogateescape")
        return f"CAST(X'{raw.hex()}' AS TEXT)"

    if _is_utf8(sql):
        return sql
    changed = _TOKEN.sub(as_bytes, sql)
    if not _is_utf8(changed):
        raise refusal("refuses bytes that are not UTF-8 outside a literal")
    return changed


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
