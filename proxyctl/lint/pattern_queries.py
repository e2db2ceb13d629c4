"""Make locking reads and writes from a rule's own pattern.

A pattern such as `FROM orders WHERE` is a part of a query. It gets a beginning and an end; the
result is tried only if it is a complete query of a usual shape. Other patterns yield no query: a
subquery or a rare clause is not worth the risk of a false error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from proxyctl.lint.patterns import is_sql_word
from proxyctl.routing.probes import Probe, QueryKind, Samples
from proxyctl.routing.regex.samples import samples

_LONGEST = 2_000
"""Longer texts are not tried. Units: characters."""

_FILLS = (" c ", " c FROM t ")
"""Texts to put for `.*` in a pattern."""

# -- a query of the usual shape -------------------------------------------------------------------

_RESERVED = (
    "ALL|ALTER|ANALYZE|AND|AS|ASC|BETWEEN|BOTH|BY|CALL|CASE|CHECK|COLUMN|CONSTRAINT|CREATE|CROSS"
    "|DATABASES?|DEFAULT|DELETE|DESC|DESCRIBE|DISTINCT|DISTINCTROW|DIV|DROP|ELSE|EXCEPT|EXISTS"
    "|EXPLAIN|FALSE|FETCH|FOR|FORCE|FOREIGN|FROM|FULLTEXT|GRANT|GROUP|HAVING|HIGH_PRIORITY|IF"
    "|IGNORE|IN|INDEX|INNER|INSERT|INTERSECT|INTERVAL|INTO|IS|JOIN|KEYS?|KILL|LEADING|LEFT|LIKE"
    "|LIMIT|LOAD|LOCK|LOW_PRIORITY|MATCH|MOD|NATURAL|NOT|NULL|OFFSET|ON|OPTIMIZE|OR|ORDER|OUTER"
    "|OVER|PARTITION|PRIMARY|PROCEDURE|READ|REFERENCES|REGEXP|RELEASE|RENAME|REPLACE|RETURNING"
    "|REVOKE|RIGHT|RLIKE|ROWS?|SELECT|SET|SHOW|SQL_CALC_FOUND_ROWS|SQL_NO_CACHE|STRAIGHT_JOIN"
    "|TABLE|THEN|TO|TRIGGER|TRUE|UNION|UNIQUE|UNLOCK|UPDATE|USE|USING|VALUES|WHEN|WHERE|WINDOW"
    "|WITH|WRITE|XOR"
)
_RESERVED_WORD = re.compile(rf"\b(?:{_RESERVED})\b", re.IGNORECASE)


def _spelled(text: str) -> str:
    """Return a text with reserved words in capitals and all other words in small letters.

    So the patterns below tell them apart by their letters: with a list of the reserved words at
    each name they would take a second to compile.
    """
    return _RESERVED_WORD.sub(lambda word: word[0].upper(), text.lower())


_NAME = r"(?:[a-z_$][\w$]*|`[^`]+`)"
_TABLE = rf"{_NAME}(?:\.{_NAME})?"
_PLAIN = rf"(?:'[^'\\]*'|-?\d+(?:\.\d+)?|{_NAME}(?:\.{_NAME})*)"
_CALL = rf"count\(\*\)|[A-Za-z_]\w*\((?:(?:DISTINCT )?{_PLAIN}(?:, ?{_PLAIN})*)?\)"
_VALUE = rf"(?:{_CALL}|{_PLAIN})"
_ITEM = rf"(?:\*|{_NAME}\.\*|{_VALUE}(?: (?:AS )?{_NAME})?)"
_COMPARED = (
    rf" ?(?:=|<>|!=|[<>]=?) ?{_VALUE}| (?:NOT )?(?:LIKE|REGEXP|RLIKE) {_VALUE}| IS (?:NOT )?NULL"
    rf"| (?:NOT )?IN ?\({_VALUE}(?:, ?{_VALUE})*\)| (?:NOT )?BETWEEN {_VALUE} AND {_VALUE}"
)
_CONDITION = rf"(?:NOT )?{_VALUE}(?:{_COMPARED})?"
_WHERE = rf"(?: WHERE {_CONDITION}(?: (?:AND|OR) {_CONDITION})*)?"
_FROM = rf"{_TABLE}(?: (?:AS )?{_NAME})?"
_JOIN = rf" (?:INNER |CROSS )?JOIN {_FROM}| LEFT (?:OUTER )?JOIN {_FROM} ON {_CONDITION}"
_ON = rf" ON {_CONDITION}(?: AND {_CONDITION})*| USING ?\({_NAME}\)"
_ORDERED = rf"{_VALUE}(?: ASC| DESC)?"
_READ = re.compile(
    rf"(?:WITH {_NAME} AS \(SELECT 1\) )?(?P<open>\()?"
    rf"SELECT (?:DISTINCT |ALL |SQL_NO_CACHE |HIGH_PRIORITY )*{_ITEM}(?:, ?{_ITEM})*"
    rf" FROM {_FROM}(?:, ?{_FROM})*(?:(?:{_JOIN})(?:{_ON})?)*{_WHERE}"
    rf"(?: GROUP BY {_VALUE}(?:, ?{_VALUE})*)?(?: HAVING {_CONDITION})?"
    rf"(?: ORDER BY {_ORDERED}(?:, ?{_ORDERED})*)?(?: LIMIT \d+(?:(?:, ?| OFFSET )\d+)?)?"
    r"(?P<lock> FOR UPDATE(?: nowait| skip locked)?| FOR share| LOCK IN share mode"
    r"| FOR no KEY UPDATE| FOR KEY share)?"
)
_WRITE = re.compile(
    rf"(?:INSERT|REPLACE) INTO {_TABLE} ?(?:\({_NAME}(?:, ?{_NAME})*\) ?)?"
    rf"VALUES ?\({_VALUE}(?:, ?{_VALUE})*\)"
    rf"|UPDATE {_TABLE} SET {_NAME} ?= ?{_VALUE}(?:, ?{_NAME} ?= ?{_VALUE})*{_WHERE}"
    rf"|DELETE FROM {_TABLE}{_WHERE}|CALL {_TABLE}\((?:{_PLAIN})?\)|truncate TABLE {_TABLE}"
)

# -- what completes a pattern to a query ----------------------------------------------------------

_COMMENT = re.compile(r"/\*.*?\*/ ?", re.DOTALL)
_PART_OF_READ = re.compile(
    r"(?:FROM|((?:LEFT |INNER )?JOIN|WHERE|(?:ORDER|GROUP) BY|LIMIT))\b", re.I
)
_STARTS = re.compile(
    r"(?P<read>\(?SELECT|WITH)\b|(?P<write>INSERT|REPLACE|UPDATE|DELETE|CALL|TRUNCATE)\b",
    re.IGNORECASE,
)
_READ_ENDS = (
    *("", " id=1", " 1", " c FROM t", " FROM t", " t", "1)", "*) FROM t", "1) FROM t", " BY c"),
    *(" AS (SELECT 1) SELECT c FROM t", " a AS (SELECT 1) SELECT c FROM t"),
)
_WRITE_ENDS = ("", " VALUES (1)", " SET c=1", " id=1", " 1", "=1", "1)", " t", "()")


def queries_of(pattern: str, sql: Samples) -> Iterator[Probe]:
    """Yield locking reads and writes made from a pattern, as far as the side has them.

    The pattern need not match them: the caller tries each with the evaluator.
    """
    for sample in dict.fromkeys(text for fill in _FILLS for text in samples(pattern, fill=fill)):
        text = re.sub(r" {2,}", " ", sample.replace("?", "1")).strip().removesuffix(";")
        made = (*_writes(text, sql), *_locking_reads(text, sql))
        probes = made if len(text) <= _LONGEST else ()
        yield from probes
        if probes:
            return


def _locking_reads(text: str, sql: Samples) -> Iterator[Probe]:
    query, read = _completed(text, _read_beginning(text), _READ_ENDS, _READ)
    if read is None:
        return
    if read["lock"]:
        name = read["lock"].strip().upper()
        if name in sql.lock_ends:
            yield Probe(QueryKind.LOCK, name, query)
        return
    for name, end in sql.lock_ends.items():
        if not read["open"]:
            yield Probe(QueryKind.LOCK, name, query + end)
        elif not end.endswith(";"):
            yield Probe(QueryKind.LOCK, name, f"{query}{end})")


def _read_beginning(text: str) -> str | None:
    """Return the beginning that completes a text to a SELECT; None if it seems no part of one."""
    plain = _COMMENT.sub("", text)
    start = _STARTS.match(plain)
    if start:
        return "" if start["read"] else None
    if part := _PART_OF_READ.match(plain):
        return "SELECT c FROM t " if part[1] else "SELECT c "
    return "SELECT c FROM " if _begins_with_table(plain) else None


def _begins_with_table(text: str) -> bool:
    """Return whether a text is the name of a table, alone or with a clause behind it."""
    parts = re.match(rf"(?P<name>{_TABLE})(?P<clause>.*)", _spelled(text))
    if parts is None or is_sql_word(parts["name"]):
        return False
    return not parts["clause"] or _PART_OF_READ.match(parts["clause"].strip()) is not None


def _writes(text: str, sql: Samples) -> Iterator[Probe]:
    for beginning, ends in _write_frames(_COMMENT.sub("", text)):
        query, write = _completed(text, beginning, ends, _WRITE)
        word = write[0].split()[0].upper() if write else None
        if word in sql.write_words:
            yield Probe(QueryKind.WRITE, word, query)


def _write_frames(text: str) -> Sequence[tuple[str, Sequence[str]]]:
    """Return the beginnings that may complete a text to a write, each with ends to try."""
    if start := _STARTS.match(text):
        return [] if start["read"] else [("", _WRITE_ENDS)]
    if text.upper().startswith("FROM "):
        return [("DELETE ", _WRITE_ENDS)]
    if text.upper().startswith("WHERE"):
        return [("UPDATE t SET c=1 ", _WRITE_ENDS), ("DELETE FROM t ", _WRITE_ENDS)]
    if _begins_with_table(text):
        return [
            ("INSERT INTO ", [" VALUES (1)"]),
            ("UPDATE ", [" SET c=1"]),
            ("DELETE FROM ", _WRITE_ENDS),
        ]
    return []


def _completed(
    text: str, beginning: str | None, ends: Iterable[str], shape: re.Pattern[str]
) -> tuple[str, re.Match[str] | None]:
    """Return a text completed by the first end with which it has the shape, and the match."""
    if beginning is None:
        return text, None
    for end in ends:
        query = beginning + text + end
        if match := shape.fullmatch(_spelled(_COMMENT.sub("", query).strip())):
            return query, match
    return text, None
