"""Record what a real ProxySQL makes of the queries for digests.

Run `python -m tests.support.record_digests` with a 2.7 on PATH, and then once more with
PROXYCTL_TEST_PROXYSQL for a 3.0, which adds what it answers otherwise.

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

from proxyctl.catalog import REFERENCE, Version
from proxyctl.catalog.releases import DIGESTS_DROP_LAST_COMMENT
from proxyctl.routing.digest import DigestOptions, digest
from tests.support.digest_server import DigestServer
from tests.support.servers import NO_BINARY, proxysql_binary

DATA = Path(__file__).parents[1] / "unit" / "data"
CASES = DATA / "digest_cases.jsonl"
COMMENTS = DATA / "digest_comments.jsonl"

LATER = str(DIGESTS_DROP_LAST_COMMENT)

Case = dict[str, Any]
"""Keys: about, query, options, and what was recorded: text and digest, or hostgroup. LATER holds
text and digest of a ProxySQL from that version on, where they are others."""


def read_cases(path: Path) -> list[Case]:
    """Return the cases of a file."""
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def options_of(case: Case, version: Version = REFERENCE) -> DigestOptions:
    """Return the options of a case."""
    return DigestOptions(**case.get("options", {}), version=version)


def answer_of(case: Case, version: Version = REFERENCE) -> tuple[str | None, str | None]:
    """Return the text and the digest that were recorded; None for one that is not certain."""
    text, digest = (
        case[LATER]
        if version >= DIGESTS_DROP_LAST_COMMENT and LATER in case
        else (case["text"], case["digest"])
    )
    return text, digest


def query_of(case: Case) -> bytes:
    """Return the query of a case."""
    return str(case["query"]).encode("latin-1")


def _record_digests(server: DigestServer, cases: list[Case]) -> None:
    alike: dict[DigestOptions, list[Case]] = defaultdict(list)
    is_later = server.version >= DIGESTS_DROP_LAST_COMMENT
    for case in cases:
        alike[options_of(case, server.version)].append(case)
    for options, group in alike.items():
        server.configure(options)
        queries = list(map(query_of, group))
        for case, query, seen in zip(group, queries, server.digests(queries), strict=True):
            if seen is None:
                raise SystemExit(f"ProxySQL keeps no count of {query!r}")
            certain = digest(query, options).certain
            answer = [seen.text.decode("latin-1"), seen.digest] if certain else [None, None]
            if not is_later:
                case["text"], case["digest"] = answer
            elif answer != [case["text"], case["digest"]]:
                case[LATER] = answer
            else:
                case.pop(LATER, None)


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
