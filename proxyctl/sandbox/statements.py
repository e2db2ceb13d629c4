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

_TRANSACTION = re.compile(r"(BEGIN|START\s+TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)\b", re.I)
_TRIGGER = re.compile(r"CREATE\s+(TEMP\s+|TEMPORARY\s+)?TRIGGER\b", re.IGNORECASE)

_FATE_OF_FIRST = {
    **dict.fromkeys(
        ("LOAD", "SAVE", "PROXYSQL", "CHECKSUM"),
        "ProxySQL knows none of its commands in such a text and answers a syntax error",
    ),
    "SHOW": "ProxySQL mistakes a SHOW in such a text",
    "SET": "ProxySQL would write the value into every variable in MEMORY",
}


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
    if ";" in statement:
        _refuse_more(statement)
    return statement


def is_comment_only(statement: str) -> bool:
    """Return whether SQLite finds nothing to do in a text."""
    if not statement.startswith(("--", "/*")):
        return False
    rest = _TOKEN.sub(lambda t: "" if t[0].startswith(("--", "/*")) else t[0], statement)
    return not rest.strip()


def transaction_refusal(word: str) -> AdminError:
    """Return the error for a statement that begins or ends a transaction."""
    return refusal(
        f"refuses {word}: ProxySQL has no transactions for clients;"
        " it swallows the statement or wedges the admin interface for everybody"
    )


def _refuse_more(statement: str) -> None:
    ended = False
    position = 0
    for token in _TOKEN.finditer(statement):
        if ended and statement[position : token.start()].strip():
            break
        position = token.end()
        if token[0] == ";":
            ended = True
        elif ended and not token[0].startswith(("--", "/*")):
            break
    else:
        if not ended or not statement[position:].strip():
            return
    # Only texts of SQLite end at the semicolon: ProxySQL compares its own commands with all of it.
    word = statement.split()[0].upper()
    what = _FATE_OF_FIRST.get(word, "ProxySQL runs only the first")
    raise refusal(f"refuses several statements in one text: {what}")


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
