"""Which hostgroups serve once the Galera monitor has placed the nodes."""

from __future__ import annotations

import pytest

from proxyctl.families import Family
from proxyctl.guards.serving import with_families
from tests.support.build import rows
from tests.unit.test_draining import SERVERS, server, waiting


def family(also_reader: int = 2, writers: int = 1) -> Family:
    return Family(
        "galera",
        10,
        frozenset({10, 20, 30, 40}),
        offline=40,
        backup=20,
        reader=30,
        max_writers=writers,
        writer_is_also_reader=also_reader,
    )


N1, N2, N3 = server(10, "n1"), waiting("n2"), waiting("n3")
READ_ONLY = server(30, "n2")


@pytest.mark.parametrize(
    ("nodes", "also_reader", "writers", "serving"),
    [
        ([N1, *N2], 2, 1, {10, 20, 30}),
        ([N1], 2, 1, {10}),
        ([N1], 1, 1, {10, 30}),
        ([N1, *N2], 2, 2, {10}),
        ([N1, *N2, *N3], 2, 2, {10, 20, 30}),
        ([N1, *N2], 0, 1, {10, 20}),
        ([N1, READ_ONLY], 0, 1, {10, 30}),
        ([READ_ONLY], 0, 1, {30}),
        ([server(40, "n1")], 2, 1, {40}),
        ([N1, server(40, "n2")], 2, 1, {10, 40}),
        ([server(10, "n1", weight=0), *N2], 2, 1, {10}),
        ([N1, *waiting("n2", weight=0)], 2, 1, {10}),
    ],
)
def test_what_the_monitor_fills(nodes, also_reader, writers, serving):
    found = with_families(SERVERS, rows("mysql_servers", *nodes), [family(also_reader, writers)])
    assert found == serving
