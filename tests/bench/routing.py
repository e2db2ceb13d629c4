"""Speed of routing without a server: digests, evaluations, and the commands `test` and `lint`.

The yardstick of an evaluation is a loop over compiled patterns that ends at the first match: what
somebody would write without knowing ProxySQL. The yardstick of a digest is four substitutions:
strings and numbers become `?`, white space and lists are folded, and no hash is computed. Each pair
runs in turns, measured in processor time, and the best of several runs counts.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from proxyctl.catalog import REFERENCE, TABLES, layout_of
from proxyctl.routing.digest import Digester
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.router import Router
from tests.bench import data
from tests.support.commands.measure import Line, best, run

QUERIES = 10_000
RULES = 100
CASES = 1_000
RUNS = 7
DIGEST_US = 1e6 / 50_000
EVALUATION_US = 1e6 / 5_000


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
    """Return the digest text that the plain substitutions make of a query."""
    for pattern, replacement in _PLAIN:
        text = pattern.sub(replacement, text)
    return text


def patterns() -> list[str]:
    """Return match_digest of a hundred rules, as sharding and splitting have them."""
    found = [
        rf"^(SELECT|UPDATE|DELETE|INSERT INTO).*\b(orders|items|users|log){number}\b"
        for number in range(100, 100 + RULES - 20)
    ]
    found += [rf"^SELECT .* FROM {name}\d+ WHERE .*=" for name in ("audit", "queue")]
    found += [rf"^(INSERT INTO|REPLACE INTO) archive{number} " for number in range(16)]
    return [*found, "^SELECT.*FOR UPDATE", "^SELECT"]


def router() -> Router:
    """Return a router with the rules."""
    layout = layout_of(TABLES["mysql_query_rules"], REFERENCE)
    rows = []
    for number, pattern in enumerate(patterns(), 1):
        cells = {column.name: column.default for column in layout.columns}
        cells |= {
            "rule_id": number,
            "active": 1,
            "match_digest": pattern,
            "re_modifiers": "CASELESS",
            "destination_hostgroup": number,
            "apply": 1,
        }
        rows.append(tuple(cells.values()))
    return Router(layout, rows, digest_of=Digester().digest)


def lines(folder: Path) -> Iterator[Line]:
    """Measure everything. `folder` holds the bench's files."""
    texts = queries()
    digester = Digester()
    digests = [digester.digest(query) for query in texts]
    ours = router()
    requests = [
        ClientQuery(query, username="app", digest=d)
        for query, d in zip(texts, digests, strict=True)
    ]
    whole = [ClientQuery(query, username="app") for query in texts]
    compiled = [re.compile(pattern.encode(), re.IGNORECASE) for pattern in patterns()]
    assert len(compiled) == RULES

    def plain_loop(request: ClientQuery) -> int:
        text = request.digest.text if request.digest else b""
        for position, pattern in enumerate(compiled):
            if pattern.search(text):
                return position
        return -1

    times = _microseconds(
        [
            (digester.digest, texts),
            (plain_digest, texts),
            (ours.evaluate, requests),
            (plain_loop, requests),
            (ours.evaluate, whole),
        ]
    )
    digested, plain, evaluated, looped, together = times
    yield Line("digest of a query of 50 bytes", digested, DIGEST_US, 1.0, "us")
    yield Line("  against a plain loop of substitutions", digested, plain, 4.0, "us")
    yield Line("evaluation against 100 rules, digest included", together, EVALUATION_US, 1.0, "us")
    yield Line("  against a plain loop over compiled patterns", evaluated, looped, 2.0, "us")
    yield _tests_line(folder, texts)
    yield _lint_line(folder)


def _microseconds(
    measured: Sequence[tuple[Callable[..., object], Sequence[object]]],
) -> list[float]:
    """Return the processor time of one call of each. Units: microseconds."""
    fastest = [float("inf")] * len(measured)
    for _ in range(RUNS):
        for place, (function, items) in enumerate(measured):
            start = time.process_time()
            for item in items:
                function(item)
            each = (time.process_time() - start) * 1e6 / len(items)
            fastest[place] = min(fastest[place], each)
    return fastest


def _tests_line(folder: Path, texts: Sequence[bytes]) -> Line:
    """Measure `test` with a thousand cases, from start to end."""
    files = folder / "tests"
    files.mkdir(exist_ok=True)
    router_of_files = router()
    text = ["version: 1", "mysql_query_rules:"]
    text += [
        f"  - {{rule_id: {number}, match_digest: '{pattern}', re_modifiers: CASELESS,"
        f" destination_hostgroup: {number}, apply: true}}"
        for number, pattern in enumerate(patterns(), 1)
    ]
    text.append("routing_tests:")
    for query in texts[:CASES]:
        found = router_of_files.evaluate(ClientQuery(query)).destination_hostgroup
        expected = "null" if found is None else found
        text.append(f'  - {{query: "{query.decode()}", expect: {{hostgroup: {expected}}}}}')
    (files / "proxyctl.yaml").write_text("\n".join(text) + "\n")
    command = [sys.executable, "-m", "proxyctl", "test", "-f", str(files)]
    found_run = best(5, lambda: run(command))
    assert found_run.code == 0, found_run.output[-500:]
    return Line(f"test with {CASES:,} cases", found_run.seconds, 2.0, 1.0)


def _lint_line(folder: Path) -> Line:
    """Measure `lint` of 10,000 rules, from start to end: 20 for tables of each of 500 users."""
    files = folder / "lint"
    files.mkdir(exist_ok=True)
    rules = [data.rule_line(number) for number in range(1, data.RULES + 1)]
    text = [
        "version: 1",
        "mysql_replication_hostgroups: [{writer_hostgroup: 1, reader_hostgroup: 2}]",
        "mysql_query_rules:",
        *rules,
    ]
    (files / "proxyctl.yaml").write_text("\n".join(text) + "\n")
    command = [sys.executable, "-m", "proxyctl", "lint", "-f", str(files)]
    found = best(3, lambda: run(command))
    assert "PX301" in found.output, found.output[-500:]
    return Line(f"lint of {data.RULES:,} rules", found.seconds, 5.0, 1.0)
