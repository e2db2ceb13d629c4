"""Cases for the evaluator with the answers of a real ProxySQL, one JSON object per line.

    python -m tests.support.routing.recorded        record again, on the proxysql of PATH
    python -m tests.support.routing.recorded 7:12   record this case only, or add it

A name is the behaviour of ProxySQL that a case shows, or `seed:number` for a random case. To add a
case, write a line with `name`, `rules` and `queries` (user, schema, client address, number of the
interface, text) and, where they are needed, `fast_routing` and `variables`; run this, and read the
difference before you commit it. Texts of queries are bytes as Latin-1.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.support.paths import UNIT_DATA
from tests.support.routing.cases import random_case
from tests.support.routing.predicted import predict
from tests.support.routing.rig import Rig
from tests.support.routing.shapes import Case, Client, Digested, Observed, Seen, Sent
from tests.support.servers.instances import proxysql_binary

FILE = UNIT_DATA / "routing_cases.jsonl"


class Recorded(NamedTuple):
    """One line of the file. `ports` are those of the ProxySQL that was observed."""

    name: str
    case: Case
    ports: list[int]
    observed: Observed


def read() -> list[Recorded]:
    """Return every recorded case."""
    return [
        Recorded(line["name"], _case(line), line["ports"], _observed(line)) for line in _lines()
    ]


def is_random(name: str) -> bool:
    """Return whether a case was made from a seed and a number."""
    return re.fullmatch(r"\w+:\d+", name) is not None


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text(encoding="ascii").splitlines()]


def _dumped(name: str, case: Case, ports: list[int], observed: Observed) -> str:
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
            "digests": sorted([*digested, count] for digested, count in observed.digests.items()),
        }
    )


def _text(text: bytes | None, query: bytes) -> str | bool | None:
    """Return the text that arrived; True if it equals the sent query."""
    return True if text == query else None if text is None else text.decode("latin-1")


def _case(line: dict[str, Any]) -> Case:
    queries = [Sent(Client(*client), text.encode("latin-1")) for *client, text in line["queries"]]
    return Case(line["rules"], queries, line.get("fast_routing", []), line.get("variables", {}))


def _observed(line: dict[str, Any]) -> Observed:
    seen = [
        Seen(
            hostgroup,
            sent.query if text is True else _encoded(text),
            answer,
            destination,
            tuple((name, number) for name, number in settings),
        )
        for sent, (hostgroup, text, answer, destination, settings) in zip(
            _case(line).queries, line["seen"], strict=True
        )
    ]
    digests = Counter({Digested(*fields): count for *fields, count in line["digests"]})
    return Observed(seen, dict(line["hits"]), digests)


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("latin-1")


def observed(rig: Rig, case: Case) -> Observed:
    """Return ProxySQL's answers for a case, hits included."""
    seen = rig.observe(case)
    return seen._replace(hits=rig.hits(predict(case, rig.ports, rig.version).hits))


def _record(names: Sequence[str]) -> list[str]:
    """Return the lines of the file with these cases, or all, recorded again."""
    binary = proxysql_binary()
    if binary is None:
        raise SystemExit("no proxysql on PATH")
    cases = {line["name"]: _case(line) for line in _lines()}
    kept = dict(zip(cases, FILE.read_text(encoding="ascii").splitlines(), strict=True))
    with Rig(binary, Path(tempfile.mkdtemp())) as rig:
        for name in names or cases:
            is_made = not is_random(name)
            case = cases[name] if is_made else random_case(Random(name), rig.ports, queries=20)
            kept[name] = _dumped(name, case, rig.ports, observed(rig, case))
    return [*kept.values()]


if __name__ == "__main__":
    recorded = _record(sys.argv[1:])
    FILE.write_text("\n".join(recorded) + "\n", encoding="ascii")
    sys.stdout.write(f"{len(recorded)} cases; now read: git diff\n")
