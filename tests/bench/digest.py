"""Queries to be digested, and a plain loop over compiled patterns to hold against it.

The plain loop is what one would write without knowing ProxySQL: strings and numbers become `?`,
white space and lists are folded, in four substitutions a query, and no number is computed.
"""

from __future__ import annotations

import re

QUERIES = 10_000

_TEMPLATES = (
    "SELECT c FROM sbtest%d WHERE id=%d AND k='abc'",
    "SELECT name, age FROM users%d WHERE id IN (1,%d,3)",
    "UPDATE t%d SET a=a+1, b='x' WHERE id=%d LIMIT 1",
    "INSERT INTO t%d (a,b) VALUES (%d,'it''s',NULL,now())",
    "SELECT * FROM orders%d o JOIN items i ON o.id=%d",
    "DELETE FROM baskets%d WHERE owner = %d AND age > 3.5",
    "SELECT COUNT(*) FROM log%d WHERE day >= %d GROUP BY a",
    "SELECT a FROM b%d WHERE c=%d ORDER BY d DESC LIMIT 10",
)
_PLAIN = (
    (re.compile(rb"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*\""""), b"?"),
    (re.compile(rb"\b\d+(?:\.\d+)?\b"), b"?"),
    (re.compile(rb"\s+"), b" "),
    (re.compile(rb"\(\?(?:,\s*\?)+\)"), b"(?,...)"),
)


def queries() -> list[bytes]:
    """Return queries of about 50 bytes."""
    return [
        (_TEMPLATES[number % len(_TEMPLATES)] % (number % 7, number)).encode()
        for number in range(QUERIES)
    ]


def plain_digest(text: bytes) -> bytes:
    """Return what the plain loop makes of a query."""
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return text
