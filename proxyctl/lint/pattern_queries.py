"""Make locking reads and writes from a rule's own pattern.

A pattern such as `FROM orders WHERE` is a part of a query. It gets a beginning and an end; the
result is tried only if it reads or writes one table under simple conditions. Other patterns yield
no query: a subquery or a rare clause is not worth the risk of a false error. Of 190 public
configurations none needs these queries; they are for rules that send the reads of one table away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from proxyctl.lint.patterns import is_sql_word
from proxyctl.routing.probes import Probe, QueryKind, Samples
from proxyctl.routing.regex.samples import samples

_LONGEST = 2_000
"""Longer texts are not tried. Units: characters."""

_FILLS = (" c ", " c FROM t ")
"""Texts to put for `.*` in a pattern."""

_STATEMENT = re.compile(r"(?:SELECT|INSERT|REPLACE|UPDATE|DELETE|CALL|TRUNCATE)\b", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?\*/ ?", re.DOTALL)
_NAME = r"(?:[A-Za-z_$][\w$]*|`[^`]+`)"
_TABLE = rf"({_NAME}(?:\.{_NAME})?)"
_ALIAS = rf"(?: ({_NAME}))?"
_VALUE = rf"(?:'[^'\\]*'|-?\d+|{_NAME}(?:\.{_NAME})*)"
_CONDITION = rf"({_VALUE}) ?[=<>] ?({_VALUE})"
_WHERE = rf"(?: WHERE {_CONDITION}(?: AND {_CONDITION})?)?"
_LIST = rf"\({_VALUE}(?:, ?{_VALUE})*\)"


class _QueryShape(NamedTuple):
    """Complete queries, and the texts that may complete a part of one.

    The groups of `query` are names: none of them is a word of SQL.
    """

    query: re.Pattern[str]
    beginnings: Sequence[str]
    ends: Sequence[str]

    def completed(self, text: str) -> Iterator[str]:
        """Yield the queries that a text becomes with a beginning and an end."""
        beginnings = [""] if _STATEMENT.match(text) else self.beginnings
        for beginning, end in product(beginnings, self.ends):
            query = f"{beginning}{text}{end}"
            match = self.query.fullmatch(_COMMENT.sub("", query))
            if match and not any(name and is_sql_word(name) for name in match.groups()):
                yield query


_READS = _QueryShape(
    re.compile(
        rf"SELECT (?:DISTINCT |SQL_NO_CACHE )?(?:\*|COUNT\(\*\)|(?!SQL_)({_VALUE})){_ALIAS}"
        rf" FROM {_TABLE}{_ALIAS}{_WHERE}",
        re.IGNORECASE,
    ),
    ("", "SELECT c ", "SELECT c FROM ", "SELECT c FROM t "),
    ("", " id=1", "=1", " 1", " c FROM t", " t", " FROM t", "*) FROM t"),
)
_WRITES = _QueryShape(
    re.compile(
        rf"(?:INSERT|REPLACE) INTO {_TABLE} ?(?:{_LIST} ?)?VALUES ?{_LIST}"
        rf"|UPDATE {_TABLE} SET {_NAME} ?= ?{_VALUE}{_WHERE}|DELETE FROM {_TABLE}{_WHERE}"
        rf"|CALL {_TABLE}\({_VALUE}?\)|TRUNCATE TABLE {_TABLE}",
        re.IGNORECASE,
    ),
    ("", "DELETE ", "DELETE FROM t ", "INSERT INTO ", "UPDATE ", "DELETE FROM "),
    ("", " VALUES (1)", " SET c=1", " id=1", "=1", " 1", " t", "()"),
)


def queries_of(pattern: str, sql: Samples) -> Iterator[Probe]:
    """Yield locking reads and writes made from a pattern, as far as the side has them.

    The pattern need not match them: the caller tries each with the evaluator.
    """
    for sample in dict.fromkeys(text for fill in _FILLS for text in samples(pattern, fill=fill)):
        text = re.sub(r" {2,}", " ", sample.replace("?", "1")).strip().removesuffix(";")
        probes = list(_probes(text, sql)) if len(text) <= _LONGEST else []
        yield from probes
        if probes:
            return


def _probes(text: str, sql: Samples) -> Iterator[Probe]:
    if not _COMMENT.sub("", text):
        return  # a comment alone sends queries there on purpose
    for query in _WRITES.completed(text):
        word = _COMMENT.sub("", query).split()[0].upper()
        if word in sql.write_words:
            yield Probe(QueryKind.WRITE, word, query)
    own_lock = next(filter(text.upper().endswith, sql.lock_ends.values()), "")
    for query in _READS.completed(text[: len(text) - len(own_lock)]):
        for name, end in sql.lock_ends.items():
            yield Probe(QueryKind.LOCK, name, query + end)
