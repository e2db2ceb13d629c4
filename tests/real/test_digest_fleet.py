"""digest top --all over real servers: sums are those of their admin interfaces."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.servers.instances import ProxySQL, binary_version, needed_binary

pytestmark = pytest.mark.real

TABLE = "stats_mysql_query_digest"
SUMS = {  # without first_seen and last_seen, which differ by a second between two readings
    "entries": "count(*)",
    "count_star": "sum(count_star)",
    "sum_time": "sum(sum_time)",
    "sum_rows_affected": "sum(sum_rows_affected)",
    "sum_rows_sent": "sum(sum_rows_sent)",
    "max_time": "max(max_time)",
}


def _binaries() -> list[str]:
    """Return three times the ProxySQL of the tests, and one of another version if there is one."""
    ours = needed_binary()
    beside = sorted(Path(ours).parent.glob("proxysql-*"))
    others = (str(path) for path in beside if binary_version(str(path)) != binary_version(ours))
    return [ours, ours, ours, *list(others)[:1]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ProxySQL]]:
    """Servers that have counted some thousand random digests."""
    folder = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        started = [
            stack.enter_context(ProxySQL(binary, folder / f"px{number}"))
            for number, binary in enumerate(_binaries(), 1)
        ]
        for server in started:
            server.instance.execute("PROXYSQLTEST 1 3")
        yield started


@pytest.fixture
def listed(servers: list[ProxySQL], offline: Project) -> list[ProxySQL]:
    """The servers, in a project that lists them."""
    lines = "".join(
        f"  - {{name: px{number}, host: 127.0.0.1, port: {server.port}, user: radmin,"
        " password: radmin}\n"
        for number, server in enumerate(servers, 1)
    )
    offline.write("version: 1\ninstances:\n" + lines)
    return servers


def own_sums(servers: Sequence[ProxySQL], names: Sequence[str]) -> dict[Any, dict[str, int]]:
    """Return the sums by these columns: each admin interface's own, added up here."""
    by = ",".join(names)
    sums: dict[Any, dict[str, int]] = {}
    for server in servers:
        statement = f"SELECT {by}, {','.join(SUMS.values())} FROM {TABLE} GROUP BY {by}"
        for row in server.instance.query(statement):
            key, cells = row[: len(names)], row[len(names) :]
            figures = dict(zip(SUMS, (int(cell or 0) for cell in cells), strict=True))
            held = sums.setdefault(key, figures)
            if held is not figures:
                for name, figure in figures.items():
                    held[name] = (
                        max(held[name], figure) if name == "max_time" else held[name] + figure
                    )
    return sums


@pytest.mark.parametrize(
    "names",
    [
        ("digest",),
        ("hostgroup",),
        ("username", "schemaname"),
        ("digest", "hostgroup", "schemaname", "username", "client_address"),
    ],
    ids=" ".join,
)
def test_sums_are_those_of_all_tables_to_the_microsecond(
    listed: list[ProxySQL], names: tuple[str, ...]
) -> None:
    every = ("--all", "--format", "json", "--limit", "100000", "--group", ",".join(names))
    found = proxyctl("digest", "top", *every)
    assert found.code == 0, found.text
    rows = found.json["digests"]
    ours = {
        tuple(str(row[name]) for name in names): {name: row[name] for name in SUMS} for row in rows
    }
    assert ours == own_sums(listed, names)
    assert len(rows) == len(ours)
    assert any(len(row["instances"]) == len(listed) for row in rows)
    assert sum(row["share"] for row in rows) == pytest.approx(1, abs=0.01)


def test_an_instance_has_its_own_sums(listed: list[ProxySQL]) -> None:
    found = proxyctl("digest", "top", "--all", "--format", "json", "--group", "instance")
    ours = {row["instance"]: row["sum_time"] for row in found.json["digests"]}
    query = f"SELECT sum(sum_time) FROM {TABLE}"
    assert ours == {
        f"px{number}": int(server.instance.query(query)[0][0] or 0)
        for number, server in enumerate(listed, 1)
    }


def test_growth_is_that_of_the_tables(listed: list[ProxySQL]) -> None:
    assert proxyctl("digest", "snapshot", "--all", "-o", "before").code == 0
    before = own_sums(listed, ["digest"])
    listed[0].instance.execute("PROXYSQLTEST 1 1")
    time.sleep(1.1)  # the clock of digests counts seconds
    found = proxyctl("digest", "diff", "--all", "before", "--format", "json", "--limit", "100000")
    assert found.code == 0, found.text
    after = own_sums(listed, ["digest"])
    ours = {row["digest"]: row["after"]["sum_time"] for row in found.json["digests"]}
    growth = {
        key[0]: figures["sum_time"] - (before[key]["sum_time"] if key in before else 0)
        for key, figures in after.items()
    }
    assert {key: time for key, time in ours.items() if time} == {
        key: time for key, time in growth.items() if time
    }
