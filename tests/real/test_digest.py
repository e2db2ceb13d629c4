"""Digests of random queries, under random options, here and on a real ProxySQL.

PROXYCTL_TEST_DIGESTS is the number of queries (default 600), PROXYCTL_TEST_SEED chooses them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from proxyctl.catalog import Version
from proxyctl.catalog.releases import DIGESTS_DROP_LAST_COMMENT, WIDE_GROUPING_LIMITS
from proxyctl.routing.digest import Digester, DigestOptions, digest
from tests.support.digests.queries import random_options, random_query
from tests.support.digests.recorded import (
    CASES,
    COMMENTS,
    LATER,
    Case,
    DigestServer,
    answer_of,
    options_of,
    query_of,
    read_cases,
    write_cases,
)
from tests.support.servers.instances import needed_binary

pytestmark = pytest.mark.real

QUERIES = int(os.environ.get("PROXYCTL_TEST_DIGESTS", "600"))
SEED = int(os.environ.get("PROXYCTL_TEST_SEED") or random.randrange(1 << 32))
A_BATCH = 50


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DigestServer]:
    """One ProxySQL for all batches."""
    with DigestServer(needed_binary(), tmp_path_factory.mktemp("digests")) as started:
        yield started


def differences(server: DigestServer, digester: Digester, queries: list[bytes]) -> list[object]:
    """Return the differences, without queries whose digest is uncertain."""
    server.configure(digester.options)
    found: list[object] = []
    for query, seen in zip(queries, server.digests(queries), strict=True):
        ours = digester.digest(query)
        stored = ours.text[: digester.options.max_digest_length]
        if ours.certain and seen != (stored, ours.hexadecimal):
            found.append((query, digester.options, stored, seen))
    return found


@pytest.mark.since("2.6.0", "some digests are others")
def test_random_queries(server: DigestServer) -> None:
    print(f"PROXYCTL_TEST_SEED={SEED} PROXYCTL_TEST_DIGESTS={QUERIES}")  # noqa: T201
    source = random.Random(SEED)
    different: list[object] = []
    for start in range(0, QUERIES, A_BATCH):
        queries = [random_query(source) for _ in range(min(A_BATCH, QUERIES - start))]
        digester = Digester(random_options(source, 300, server.version))
        different += differences(server, digester, queries)
    assert different == [], f"seed {SEED}"


def test_long_queries(server: DigestServer) -> None:
    """The queries are longer than one packet, and than the limit of the text."""
    values = b",".join(b"%d" % number for number in range(30_000))
    queries = [
        b"SELECT a FROM t WHERE id IN (" + values + b")",
        b"INSERT INTO t VALUES " + b",".join([b"(1,'two',3.0,NULL,5,6)"] * 30_000),
        b"SELECT '" + b"\xf0\x9f\xa6\x86" * 300_000 + b"', b",
        b"SELECT /* " + b"c" * 1_000_000 + b" */ 1",
        b"SELECT " + b"a , " * 250_000 + b"b",
        b"SELECT 'no end " + b"\\'" * 400_000,
    ]
    some = random_options(random.Random(SEED), 20_000, server.version)
    for digester in (Digester(DigestOptions(version=server.version)), Digester(some)):
        assert differences(server, digester, queries) == []


@pytest.mark.since("2.6.0", "it does not end")
@pytest.mark.before(str(WIDE_GROUPING_LIMITS), "the limit is no byte any more")
def test_a_limit_that_options_refuse_ends_proxysql(tmp_path) -> None:
    with DigestServer(needed_binary(), tmp_path) as server:
        server.set_variables({"grouping_limit": "200"})
        with pytest.raises(AssertionError, match="ProxySQL went away"):
            server.digests([b"SELECT f(1,a)"])


@pytest.mark.since("2.6.0", "some digests are others")
def test_recorded_digests_are_still_what_it_says(
    server: DigestServer, request: pytest.FixtureRequest
) -> None:
    cases = read_cases(CASES)
    by_options: dict[DigestOptions, list[Case]] = {}
    for case in cases:
        by_options.setdefault(options_of(case, server.version), []).append(case)
    for options, alike in by_options.items():
        server.configure(options)
        for case, seen in zip(alike, server.digests(list(map(query_of, alike))), strict=True):
            assert seen is not None, f"ProxySQL keeps no count of {case['query']!r}"
            is_certain = digest(query_of(case), options).certain
            shown = (seen.text.decode("latin-1"), seen.digest) if is_certain else (None, None)
            if request.config.getoption("--update-golden"):
                record(case, shown, server.version)
            assert shown == tuple(answer_of(case, server.version)), case["about"]
    if request.config.getoption("--update-golden"):
        write_cases(CASES, cases)


def record(case: Case, shown: tuple[str | None, ...], version: Version) -> None:
    """Put an answer into a case: the answer of 2.7, or a different one from LATER on."""
    if version < DIGESTS_DROP_LAST_COMMENT:
        case["text"], case["digest"] = shown
    elif shown != (case["text"], case["digest"]):
        case[LATER] = list(shown)
    else:
        case.pop(LATER, None)


def test_recorded_hostgroups_are_still_where_it_goes(
    server: DigestServer, request: pytest.FixtureRequest
) -> None:
    cases = read_cases(COMMENTS)
    server.configure(DigestOptions())
    found = server.hostgroups(list(map(query_of, cases)))
    if request.config.getoption("--update-golden"):
        cases = [{**case, "hostgroup": number} for case, number in zip(cases, found, strict=True)]
        write_cases(COMMENTS, cases)
    assert found == [case["hostgroup"] for case in cases]
