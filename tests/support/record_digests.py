"""Record what a real ProxySQL makes of the queries for digests.

Run `python -m tests.support.record_digests`.

To add a case, write a line with `about`, `query` and, where they are not the defaults, `options`
into one of the files, run this, and read the difference before it is committed. Queries are bytes,
as Latin-1. A text that is not certain has null: it depends on the query before.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from proxyctl.routing.digest import DigestOptions, digest
from tests.support.digest_server import DigestServer
from tests.support.servers import NO_BINARY, proxysql_binary

DATA = Path(__file__).parents[1] / "unit" / "data"
CASES = DATA / "digest_cases.jsonl"
COMMENTS = DATA / "digest_comments.jsonl"

Case = dict[str, Any]
"""Keys: about, query, options, and what was recorded: text and digest, or hostgroup."""


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def options_of(case: Case) -> DigestOptions:
    """Return the options of a case."""
    return DigestOptions(**case.get("options", {}))


def query_of(case: Case) -> bytes:
    """Return the query of a case."""
    return str(case["query"]).encode("latin-1")


def _record_digests(server: DigestServer, cases: list[Case]) -> None:
    alike: dict[DigestOptions, list[Case]] = defaultdict(list)
    for case in cases:
        alike[options_of(case)].append(case)
    for options, group in alike.items():
        server.configure(options)
        queries = list(map(query_of, group))
        for case, query, seen in zip(group, queries, server.digests(queries), strict=True):
            if seen is None:
                raise SystemExit(f"ProxySQL keeps no count of {query!r}")
            certain = digest(query, options).certain
            case["text"] = seen.text.decode("latin-1") if certain else None
            case["digest"] = seen.digest if certain else None


def _record_hostgroups(server: DigestServer, cases: list[Case]) -> None:
    server.configure(DigestOptions())
    hostgroups = server.hostgroups(list(map(query_of, cases)))
    for case, hostgroup in zip(cases, hostgroups, strict=True):
        case["hostgroup"] = hostgroup


def _write(path: Path, cases: list[Case]) -> None:
    lines = [json.dumps(case) + "\n" for case in cases]
    path.write_text("".join(lines), encoding="ascii")


def main() -> int:
    """Record both files."""
    binary = proxysql_binary()
    if binary is None:
        sys.stderr.write(f"{NO_BINARY}\n")
        return 1
    digests, comments = read_cases(CASES), read_cases(COMMENTS)
    with tempfile.TemporaryDirectory() as folder, DigestServer(binary, Path(folder)) as server:
        _record_digests(server, digests)
        _record_hostgroups(server, comments)
    _write(CASES, digests)
    _write(COMMENTS, comments)
    sys.stdout.write(f"recorded {len(digests)} digests and {len(comments)} hostgroups\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
