"""Files that proxyctl wrote, and that somebody may have changed since."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import strategies as st

from proxyctl.plan.saved import FORMAT, SavedPlan
from proxyctl.render.digest_diff import DIFF, digest_diff_text
from proxyctl.routing.explain import read_requests
from proxyctl.stats.counters import tally
from proxyctl.stats.diff import compare
from proxyctl.stats.digest_file import KIND, read_digest_file
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.report import make_report
from tests.properties.fuzz.target import Run, Target

# -- saved plans -----------------------------------------------------------------------------------

_PLAN = {
    "kind": "proxyctl plan",
    "format": FORMAT,
    "proxyctl": "0.1",
    "address": "127.0.0.1:6032",
    "fingerprint": "0" * 64,
    "seal": "00ff:" + "0" * 64,
    "paths": ["proxyctl.yaml"],
    "variables": ["name"],
    "options": ["--force"],
    "plan": {"changes": []},
    "text": "",
}

junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["\ud800", "\x00", "127.0.0.1:6032", KIND]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def _nearly(document: dict[str, object]) -> st.SearchStrategy[dict[str, object]]:
    """Return the document with some of its values replaced or left out."""
    return st.fixed_dictionaries(
        {},
        optional={key: st.just(value) | st.just(value) | junk for key, value in document.items()},
    ).map(lambda changed: {**document, **changed})


@contextmanager
def _saved_plan(folder: Path) -> Iterator[Run]:
    path = folder / "plan.json"

    def run(data: bytes) -> None:
        path.write_bytes(data)
        SavedPlan.read(path)

    yield run


def _plan_seeds() -> Sequence[bytes]:
    return [json.dumps(_PLAN, indent=2).encode(), json.dumps(_PLAN).encode()]


def _plan_words() -> Sequence[bytes]:
    marks = (b"{", b"}", b"[", b"]", b",", b":", b"null", b"1e999", b"NaN", b"-", b'"\\ud800"')
    return [*marks, *(json.dumps(key).encode() for key in _PLAN)]


def _plans() -> st.SearchStrategy[bytes]:
    return _nearly(_PLAN).map(lambda plan: json.dumps(plan).encode())


# -- digest statistics -----------------------------------------------------------------------------

_ROW = SeenDigest(10, "shop", "app", "", "0x3EF2C4DB4D1A4E21", "SELECT ?", 7, 1, 2, 3, 1, 2, 0, 9)
_HEADER: dict[str, object] = {
    "kind": KIND,
    "format": 1,
    "name": "px1",
    "address": "px1:6032",
    "version": "2.7.1",
    "taken_at": 1_700_000_000,
    "uptime": 100,
    "variables": {"mysql-query_digests_max_digest_length": "2048"},
    "columns": list(SeenDigest._fields),
    "count": 2,
}


def _digest_text(header: dict[str, object], rows: Sequence[object]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in (header, *rows))


_BEFORE = _digest_text({**_HEADER, "taken_at": 1_600_000_000, "count": 1}, [_ROW])


@contextmanager
def _digest_file(folder: Path) -> Iterator[Run]:
    """Return a function that reads a file, reports on it, and compares it with an older one."""
    before, path = folder / "before", folder / "digests"
    before.write_bytes(_BEFORE)

    def run(data: bytes) -> None:
        path.write_bytes(data)
        table = read_digest_file(path)
        for row in table.rows:
            assert row.text.decode("utf-8", "surrogateescape") == row.digest_text
        make_report([table], limit=5)
        first = tally(read_digest_file(before))
        found = compare(first, tally(read_digest_file(path), earlier=first))
        digest_diff_text(found, "px1", "change")
        DIFF.document(found)

    yield run


def _digest_seeds() -> Sequence[bytes]:
    other = _ROW._replace(hostgroup=-1, digest_text="SELECT '\udce9' é", digest="0x1")
    whole = _digest_text(_HEADER, [_ROW, other])
    return [whole, gzip.compress(whole, mtime=0)]


def _digest_words() -> Sequence[bytes]:
    marks = (b"[", b"]", b",", b"{", b"}", b"\n", b'"', b"null", b"true", b"1.5", b'"\\udc80"')
    return [*marks, *(json.dumps(key).encode() for key in _HEADER)]


def _digest_files() -> st.SearchStrategy[bytes]:
    cells = {
        name: st.just(cell)
        | (st.integers(-5, 2**70) if isinstance(cell, int) else st.text(max_size=9))
        for name, cell in _ROW._asdict().items()
    }
    rows = st.fixed_dictionaries(cells).map(lambda row: list(row.values()))
    return st.builds(
        lambda header, given, fits: _digest_text(
            {**header, "count": len(given)} if fits else header, given
        ),
        _nearly(_HEADER),
        st.lists(rows | rows | junk, max_size=4),
        st.booleans(),
    )


# -- queries to be explained -----------------------------------------------------------------------

_QUERY = {
    "query": "SELECT 1",
    "username": "app",
    "schemaname": "shop",
    "client_addr": "10.0.0.1",
    "proxy_addr": "127.0.0.1",
    "proxy_port": 6033,
    "flagIN": 0,
}


@contextmanager
def _queries(_folder: Path) -> Iterator[Run]:
    def run(data: bytes) -> None:
        list(read_requests(data.splitlines(keepends=True), "queries.jsonl"))

    yield run


def _query_seeds() -> Sequence[bytes]:
    return [json.dumps(_QUERY).encode() + b'\n\n{"query": "SELECT \\u00e9"}\n']


def _query_words() -> Sequence[bytes]:
    return [b"{", b"}", b":", b",", b"\n", *(json.dumps(key).encode() for key in _QUERY)]


def _query_lines() -> st.SearchStrategy[bytes]:
    return _nearly(dict(_QUERY)).map(lambda query: json.dumps(query).encode())


SAVED_TARGETS = (
    Target("saved-plan", _saved_plan, _plan_seeds, _plan_words, _plans),
    Target("digest-file", _digest_file, _digest_seeds, _digest_words, _digest_files),
    Target("queries", _queries, _query_seeds, _query_words, _query_lines),
)
