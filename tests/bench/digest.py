"""Speed of digests against a plain loop over compiled patterns: `python -m tests.bench.digest`.

The plain loop is what one would write without knowing ProxySQL: strings and numbers become `?`,
white space and lists are folded, in four substitutions a query, and no number is computed. Both are
measured in processor time, in turn, and the best of several runs counts.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from proxyctl.digest import Digester

QUERIES = 10_000
RUNS = 7
DIGESTS_A_SECOND = 50_000
MOST_PLAIN_LOOPS = 4.0
"""How many times the plain loop a digest may take, its number included."""

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


class Measured(NamedTuple):
    """Processor time of one query, in microseconds, ours and the plain loop's."""

    digest: float
    plain: float


def queries() -> list[bytes]:
    """Return queries of about 50 bytes."""
    return [
        (_TEMPLATES[number % len(_TEMPLATES)] % (number % 7, number)).encode()
        for number in range(QUERIES)
    ]


def measure() -> Measured:
    """Measure both."""
    texts = queries()
    digester = Digester()
    ours, plain = [], []
    for _ in range(RUNS):
        ours.append(_microseconds(digester.digest, texts))
        plain.append(_microseconds(_plain_digest, texts))
    return Measured(min(ours), min(plain))


def _microseconds(measured: Callable[[bytes], object], texts: list[bytes]) -> float:
    start = time.process_time()
    for text in texts:
        measured(text)
    return (time.process_time() - start) * 1e6 / len(texts)


def _plain_digest(text: bytes) -> bytes:
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return text


def main() -> int:
    """Print what was measured; 1 when a bar is missed."""
    found = measure()
    a_second = 1e6 / found.digest
    ratio = found.digest / found.plain
    size = sum(map(len, queries())) / QUERIES
    sys.stdout.write(
        f"queries of {size:.0f} bytes: {a_second:,.0f} digests a second"
        f" (at least {DIGESTS_A_SECOND:,}); {found.digest:.2f} us, {ratio:.2f} of the plain loop's"
        f" {found.plain:.2f} us (at most {MOST_PLAIN_LOOPS})\n"
    )
    return 0 if a_second >= DIGESTS_A_SECOND and ratio <= MOST_PLAIN_LOOPS else 1


if __name__ == "__main__":
    sys.exit(main())
