"""Queries made of a text that a rule matches: locking reads and writes that can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proxyctl.lint.table_names import is_keyword
from proxyctl.routing.probes import LOCK_ENDS, Kind, Probe

_READ_STARTS = ("select", "(select", "with")
_WRITE_STARTS = ("insert", "update", "delete", "replace", "call", "create", "alter", "drop")
_COMMENTS = re.compile(r"\A(?:/\*.*?\*/\s*)+", re.DOTALL)
_TABLE = re.compile(
    r"(?:FROM )?(?P<name>[\w$`]+)(?:\.[\w$`]+)?"
    r"(?P<rest> (?:(?:LEFT |INNER )?JOIN|WHERE|(?:ORDER|GROUP) BY|LIMIT)\b.*)?",
    re.IGNORECASE,
)
"""A table, perhaps with what follows it in a query."""

_CLAUSE = re.compile(r"(?:WHERE|((?:LEFT |INNER )?JOIN|(?:ORDER|GROUP) BY|LIMIT))\b", re.IGNORECASE)
_UNFINISHED = tuple(
    (re.compile(rf"{end}\Z", re.IGNORECASE), more)
    for end, more in (
        (r"\b(?:WHERE|AND|OR|ON|HAVING|NOT)", " id=1"),
        (r"[=<>]", " 1"),
        (r"\b(?:FROM|JOIN|INTO|TABLE|UPDATE)", " t"),
        (r"\b(?:ORDER|GROUP) BY", " c"),
        (r"\bLIMIT", " 1"),
        (r"\bSELECT", " c FROM t"),
        (r"\AWITH", " a AS (SELECT 1) SELECT c FROM t"),
        (r"\AWITH \w+", " AS (SELECT 1) SELECT c FROM t"),
    )
)


def probes_like(text: str) -> Iterator[Probe]:
    """Yield queries that begin with a text, first as SQL has them, then with the text untouched.

    Nothing is made of a text that no query can be seen in, such as a comment or half an expression.
    It is not looked at whether the rule that the text comes from matches them.
    """
    for start in dict.fromkeys((_finished(text), text)):
        if start:
            yield from _probes(start)


def _finished(text: str) -> str:
    """Return a text with what it lacks at its end, and single blanks."""
    text = re.sub(r" {2,}", " ", text)
    return text + next((more for end, more in _UNFINISHED if end.search(text)), "")


def _probes(text: str) -> Iterator[Probe]:
    start = _COMMENTS.sub("", text).lower()
    if start.startswith(_WRITE_STARTS):
        yield Probe(Kind.WRITE, start.split()[0].upper(), text)
        return
    read = text
    if clause := _CLAUSE.match(text):
        read = f"SELECT c FROM t {text}"
        if not clause[1]:
            yield Probe(Kind.WRITE, "UPDATE", f"UPDATE t SET c=1 {text}")
            yield Probe(Kind.WRITE, "DELETE", f"DELETE FROM t {text}")
    elif not start.startswith(_READ_STARTS):
        named = _TABLE.fullmatch(text)
        if named is None or is_keyword(named["name"]):
            return
        table = text[4:].strip() if start.startswith("from") else text
        read = f"SELECT c {text}" if start.startswith("from") else f"SELECT c FROM {text}"
        rest = named["rest"] or ""
        if not rest:
            yield Probe(Kind.WRITE, "INSERT", f"INSERT INTO {table} VALUES (1)")
            yield Probe(Kind.WRITE, "UPDATE", f"UPDATE {table} SET c=1")
        if not rest or rest.upper().startswith(" WHERE"):
            yield Probe(Kind.WRITE, "DELETE", f"DELETE FROM {table}")
    read = read.removesuffix(";")
    closing = ")" * max(0, read.count("(") - read.count(")"))
    for what, end in LOCK_ENDS.items():
        yield Probe(Kind.LOCK, what, read + end + closing)
