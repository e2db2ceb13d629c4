"""Random queries and options for digests: those that programs send, and malformed ones.

Half of the queries are statements with random values, blanks and comments; the others are pieces
that matter to a digest, in any order, and plain bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from proxyctl.catalog import REFERENCE, Version
from proxyctl.catalog.releases import WIDE_GROUPING_LIMITS
from proxyctl.routing.digest import DigestOptions

_NAMES = (
    "a", "b1", "id", "t_2", "_x", "$y", "`odd name`", "`a``b`", "users", "n", "nulls", "e", "x",
    "2fast", "db.t", "@v", "@@global.z", "größe", "名前", "🦆",
)  # fmt: skip
_VALUES = (
    "0", "7", "42", "007", "1.5", ".5", "5.", "1e9", "1E-9", "1e+2", "0x1F", "0Xab", "0xZZ",
    "0b101", "1_000", "12abc", "-3", "+3", "- 3", "--3", "NULL", "null", "Null", "TRUE", "now()",
    "''", '""', "'it''s'", r"'a\'b'", r"'\\'", '"say ""x"""', "'-- no'", "'/* no */'", "'#'",
    "N'é'", "_utf8mb4'x'", "x'1F'", "'名前'", "?", ":p", "'a' 'b'", "1+1", "a - 1", "(1)", "(1,2)",
)  # fmt: skip
_GAPS = (" ",) * 8 + ("  ", "\t", "\n", "\r\n", " \n ", "/**/", " /* c */ ", "/*! 1 */", " # c\n ")
_BREAKS = (
    " ", "  ", "\n", "-- c\n", " -- c\n", "--\n", "# c\n", "/* hostgroup=1 */", "/*!40101 x */",
    "/*!50000 y=1, z */", "/*+ hint(t) */", "/* a /* b */", "*/*/", "/* - */", "/*! */",
)  # fmt: skip
_PIECES = (
    *_NAMES, *_VALUES, *_GAPS, *_BREAKS,
    "select", "(", ")", "( ", " )", "),(", ",", ", ", " ,", "?,", "(?,", "?,?", "...", ",...",
    "),...", "(?,...),", "(?,?,...),", "(1,2,3,4,5,6),", "+", "-", " - ", "*", "/", "%", "=", "!=",
    "<>", ";", ".", "'", '"', "\\", "#", "--", "-- ", "/*", "*/", "/*!", "!", "\0", "e", "E", "0x",
    "1e", "1.", "1e-",
)  # fmt: skip


def random_query(source: random.Random) -> bytes:
    """Return one query of up to some hundred bytes."""
    make = source.choice((_statement, _statement, _statement, _pieces, _pieces, _bytes))
    return make(source)


def _statement(source: random.Random) -> bytes:
    text = source.choice(_STATEMENTS)(source)
    if source.random() < 0.3:
        text = source.choice(_BREAKS) + text
    if source.random() < 0.3:
        text += source.choice((";", "; ", " ;", "\n", *_BREAKS))
    if source.random() < 0.2:
        words = text.split(" ")
        text = "".join(word + source.choice(_GAPS) for word in words)
    if source.random() < 0.1:
        text = text[: source.randrange(len(text) + 1)]
    return text.encode()


def _values(source: random.Random, most: int) -> str:
    separator = source.choice((",", ",", ", ", " , ", ",\n "))
    kind = source.choice((_VALUES, _VALUES, ("1", "22", "'x'"), ("?",)))
    return separator.join(source.choice(kind) for _ in range(source.randint(1, most)))


def _names(source: random.Random) -> str:
    return source.choice((",", ", ")).join(source.sample(_NAMES, source.randint(1, 5)))


def _select(source: random.Random) -> str:
    name, value = source.choice(_NAMES), source.choice(_VALUES)
    compared = source.choice(("=", " = ", ">", " >= ", " LIKE ", " <=> "))
    return (
        f"SELECT {_names(source)} FROM {source.choice(_NAMES)} WHERE {name}{compared}{value}"
        f" AND {source.choice(_NAMES)} IN ({_values(source, 12)}) LIMIT {source.choice(_VALUES)}"
    )


def _insert(source: random.Random) -> str:
    rows = source.choice((",", ",", ", ", "\n,")).join(
        f"({_values(source, 8)})" for _ in range(source.randint(1, 14))
    )
    return f"INSERT INTO {source.choice(_NAMES)} ({_names(source)}) VALUES {rows}"


def _same_rows(source: random.Random) -> str:
    row = f"({_values(source, 9)})"
    return f"REPLACE INTO t VALUES {source.choice((',', ', ')).join([row] * source.randint(1, 30))}"


def _update(source: random.Random) -> str:
    name = source.choice(_NAMES)
    changes = source.choice(
        (f"{name}={name}+{source.choice(_VALUES)}", f"{name} = {name} - {source.choice(_VALUES)}")
    )
    return f"UPDATE {source.choice(_NAMES)} SET {changes} WHERE id={source.choice(_VALUES)}"


def _other(source: random.Random) -> str:
    value = source.choice(_VALUES)
    return source.choice(
        (
            f"CALL p({_values(source, 6)})",
            f"SELECT {value}; SELECT {value};",
            f"SELECT f({_values(source, 4)}) {source.choice('+-*/%')} g({_values(source, 7)})",
            f"SELECT {_values(source, 15)}",
            f"CREATE TABLE t{source.randrange(99)} (a1 INT, b2 CHAR({source.randrange(99)}))",
            f"DELETE FROM t WHERE (a,b) IN (({_values(source, 2)}),({_values(source, 2)}))",
        )
    )


_STATEMENTS: tuple[Callable[[random.Random], str], ...] = (
    _select, _select, _insert, _insert, _same_rows, _update, _other, _other,
)  # fmt: skip


def _pieces(source: random.Random) -> bytes:
    count = source.choice((1, 2, 3, 5, 8, 20, 50))
    kinds = source.sample(_PIECES, source.choice((2, 4, 8, len(_PIECES))))
    return source.choice(("", "", " ", ",")).join(source.choices(kinds, k=count)).encode()


def _bytes(source: random.Random) -> bytes:
    return source.randbytes(source.randrange(40))


def random_options(
    source: random.Random, typical: int, version: Version = REFERENCE
) -> DigestOptions:
    """Return options; the query length is often too small for queries of `typical` bytes."""
    wide = (128, 200, 500) if version >= WIDE_GROUPING_LIMITS else (1, 3)

    def flag() -> bool:
        return source.random() < 0.35

    return DigestOptions(
        lowercase=flag(),
        replace_null=flag(),
        no_digits=flag(),
        keep_comment=flag(),
        grouping_limit=source.choice((1, 1, 2, 3, 3, 5, 127, 256, 259, *wide)),
        groups_grouping_limit=source.choice((0, 1, 1, 2, 3, 10, 127, 256, 258, *wide)),
        max_digest_length=source.choice((2048, 2048, 16, 64, 1 << 20)),
        max_query_length=source.choice(
            (65000, 65000, 1 << 20, source.randint(16, 64), source.randint(16, typical))
        ),
        version=version,
    )
