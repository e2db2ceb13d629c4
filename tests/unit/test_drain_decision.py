"""The rows that drain a node, the next writer, and hostgroups without a server."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from proxyctl.nodes.drain_decision import ServerState, drained_image, objections, restored_image
from proxyctl.proxysql.topology import Family, Topology
from tests.support.build import layout, servers, servers_text

SERVERS = layout("mysql_servers")
GALERA = Family(
    "galera", 10, frozenset({10, 20, 30, 40}), 40, 20, reader=30, writer_is_also_reader=2
)
REPLICATION = Family("replication", 50, frozenset({50, 60}), reader=60)
FAMILIES = Topology((GALERA, REPLICATION))
N1, N2, N3 = (f"10 n{n} SHUNNED, 20 n{n}, 30 n{n}" for n in (1, 2, 3))
"""The rows of a node that reads, and could write."""
DRAINED_N2 = ", ".join(f"{row} weight=0 max_connections=0" for row in N2.split(", "))
DRAINED_N3 = DRAINED_N2.replace("n2", "n3")


def server_state(text: str, *drained: str) -> ServerState:
    """Servers configured in hostgroup 10 of a family, or without a family."""
    configured = {}
    for row in servers(text).values():
        cells = dict(zip(SERVERS.names, row, strict=True)) | {"status": "ONLINE"}
        cells["hostgroup_id"] = 10 if cells["hostgroup_id"] in (20, 30, 40) else row[0]
        configured[SERVERS.key_of(tuple(cells.values()))] = tuple(cells.values())
    nodes = frozenset((name, 3306) for name in drained)
    return ServerState(SERVERS, configured, servers(text), FAMILIES, nodes)


def joined(*rows: str) -> str:
    return ", ".join(sorted(", ".join(rows).split(", ")))


@dataclass(frozen=True)
class DrainCase:
    """Servers, the nodes that are drained already, the one to drain, and the servers then."""

    name: str
    before: str
    host: str
    after: str
    drained: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "case",
    [
        DrainCase(
            name="a reader of a Galera cluster keeps its places",
            before=joined("10 n3", N1, N2),
            host="n2",
            after=joined("10 n3", N1, DRAINED_N2),
        ),
        DrainCase(
            name="a writer swaps places with the heir of most weight",
            before=joined("10 n3", N1, N2).replace("n1", "n1 weight=5"),
            host="n3",
            after=joined("10 n1 weight=5", N2, DRAINED_N3),
        ),
        DrainCase(
            name="of equal weights the last name inherits, as with the monitor",
            before=joined("10 n3", N1, N2),
            host="n3",
            after=joined("10 n2", N1, DRAINED_N3),
        ),
        DrainCase(
            name="a drained node inherits nothing and stays drained",
            before=joined("10 n3", N1, DRAINED_N2),
            drained=("n2",),
            host="n3",
            after=joined("10 n1, 30 n1", DRAINED_N2, DRAINED_N3),
        ),
        DrainCase(
            name="a server outside of Galera gets OFFLINE_SOFT",
            before="50 m1, 60 m2, 60 m3",
            host="m2",
            after="50 m1, 60 m2 OFFLINE_SOFT, 60 m3",
        ),
    ],
    ids=lambda case: case.name,
)
def test_the_rows_that_drain_a_node(case: DrainCase) -> None:
    state = server_state(case.before, *case.drained)
    assert servers_text(drained_image(state, (case.host, 3306))) == case.after


LAST = "is the last usable server of hostgroup"


@dataclass(frozen=True)
class ObjectionCase:
    """Servers, the nodes that are drained already, the one to drain, and what is against it."""

    before: str
    host: str
    reasons: list[str]
    drained: tuple[str, ...] = ()


@pytest.mark.parametrize(
    "case",
    [
        ObjectionCase(
            before=joined("10 n3", N1, DRAINED_N2),
            drained=("n2",),
            host="n3",
            reasons=[
                "hostgroup 30 would have no usable server:"
                " its last other node would become the writer"
            ],
        ),
        ObjectionCase(before=joined("10 n3", N1), host="n1", reasons=[f"n1:3306 {LAST} 30"]),
        ObjectionCase(before="50 m1, 60 m2, 60 m3, 70 x", host="m2", reasons=[]),
        ObjectionCase(
            before="50 m1, 60 m2, 60 m3, 70 x", host="m1", reasons=[f"m1:3306 {LAST} 50"]
        ),
        ObjectionCase(before="50 m1, 60 m2, 60 m3, 70 x", host="x", reasons=[f"x:3306 {LAST} 70"]),
    ],
    ids=lambda case: case.host,
)
def test_why_a_node_is_not_drained(case: ObjectionCase) -> None:
    where, node = server_state(case.before, *case.drained), (case.host, 3306)
    against = [*objections(where, node, drained_image(where, node))]
    assert [objection.reason for objection in against] == case.reasons
    assert {objection.fix for objection in against} <= {"restore or add another node there first"}


def test_a_restored_node_serves_in_its_present_hostgroup() -> None:
    where = server_state(joined("10 n2", N1, DRAINED_N3), "n3")
    key, rows = (10, "n3", 3306), {**where.configured}
    cells = dict(zip(SERVERS.names, rows[key], strict=True)) | {"weight": 7, "max_connections": 500}
    where = replace(where, configured={**rows, key: tuple(cells.values())})
    n3 = ", ".join(f"{row} weight=7 max_connections=500" for row in N3.split(", "))
    assert servers_text(restored_image(where, ("n3", 3306))) == joined("10 n2", N1, n3)
    # Peers that copy it would keep the old writer among the backup writers.
    image = restored_image(replace(where, has_peers=True), ("n3", 3306))
    assert servers_text(image) == joined(N1, N2, "10 n3 weight=7 max_connections=500")


def test_an_old_primary_that_was_replaced_meanwhile_comes_back_as_a_replica() -> None:
    failed_over = server_state("50 m1 OFFLINE_SOFT, 50 m2", "m1")
    assert servers_text(restored_image(failed_over, ("m1", 3306))) == "50 m2, 60 m1"
