"""Cases for the evaluator with what a real ProxySQL made of them, one JSON object a line.

    python -m tests.support.routing_recorded        record again, on the proxysql of PATH
    python -m tests.support.routing_recorded 7:12   add the case that a seed and a number gave

Texts of queries are bytes as Latin-1.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.support.routing_cases import random_case
from tests.support.routing_made import MADE
from tests.support.routing_predicted import predict
from tests.support.routing_rig import Rig
from tests.support.routing_shapes import Case, Client, Digested, Observed, Seen, Sent
from tests.support.servers import proxysql_binary

FILE = Path(__file__).parents[1] / "unit" / "data" / "routing_cases.jsonl"
_SEED = "recorded"
_RANDOM_CASES = 40


def read() -> Iterator[tuple[str, Case, list[int], Observed]]:
    """Yield name, case, ProxySQL's ports, and what was observed."""
    for line in FILE.read_text(encoding="ascii").splitlines():
        yield _loaded(json.loads(line))


def dumped(name: str, case: Case, ports: list[int], observed: Observed) -> str:
    """Return one line."""
    return json.dumps(
        {
            "name": name,
            "ports": ports,
            "variables": case.variables,
            "rules": case.rules,
            "fast_routing": case.fast_routing,
            "queries": [[*sent.client, sent.query.decode("latin-1")] for sent in case.queries],
            "seen": [
                [
                    seen.hostgroup,
                    _text(seen.text, sent.query),
                    *seen[2:],
                ]
                for seen, sent in zip(observed.seen, case.queries, strict=True)
            ],
            "hits": sorted(observed.hits.items()),
            "digests": sorted([*one, count] for one, count in observed.digests.items()),
        }
    )


def _text(text: bytes | None, query: bytes) -> str | bool | None:
    """Return the text that arrived; True if it is the query as it was sent."""
    return True if text == query else None if text is None else text.decode("latin-1")


def _loaded(line: dict[str, Any]) -> tuple[str, Case, list[int], Observed]:
    queries = [Sent(Client(*client), text.encode("latin-1")) for *client, text in line["queries"]]
    case = Case(line["rules"], queries, line["fast_routing"], line["variables"])
    seen = [
        Seen(
            hostgroup,
            sent.query if text is True else _encoded(text),
            answer,
            destination,
            tuple((name, number) for name, number in settings),
        )
        for sent, (hostgroup, text, answer, destination, settings) in zip(
            queries, line["seen"], strict=True
        )
    ]
    digests = Counter({Digested(*one): count for *one, count in line["digests"]})
    return line["name"], case, line["ports"], Observed(seen, dict(line["hits"]), digests)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1")


def observed(rig: Rig, case: Case) -> Observed:
    """Return what ProxySQL makes of a case, hits as well."""
    seen = rig.observe(case)
    return seen._replace(hits=rig.hits(predict(case, rig.ports).hits))


def _record() -> list[str]:
    binary = proxysql_binary()
    if binary is None:
        raise SystemExit("no proxysql on PATH")
    named = sys.argv[1:]
    lines = FILE.read_text(encoding="ascii").splitlines() if named else []
    with Rig(binary, Path(tempfile.mkdtemp())) as rig:
        cases = {} if named else dict(MADE)
        for name in named or [f"{_SEED}:{number}" for number in range(_RANDOM_CASES)]:
            cases[name] = random_case(Random(name), rig.ports, queries=20)
        for name, case in cases.items():
            lines.append(dumped(name, case, rig.ports, observed(rig, case)))
    return lines


if __name__ == "__main__":
    recorded = _record()
    FILE.write_text("\n".join(recorded) + "\n", encoding="ascii")
    sys.stdout.write(f"{len(recorded)} cases; now read: git diff\n")
