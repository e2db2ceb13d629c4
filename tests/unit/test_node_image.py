"""Which rows drain a node, who writes after it, and what would be left without a server."""

from __future__ import annotations

import pytest

from proxyctl.catalog import REFERENCE, TABLES, layout_of
from proxyctl.nodes.image import Standing, drained_image, reasons_against, restored_image
from proxyctl.state.families import Family, Node
from proxyctl.state.row import Rows
from tests.support.build import rows

SERVERS = layout_of(TABLES["mysql_servers"], REFERENCE)
GALERA = Family(
    "galera", 10, frozenset({10, 20, 30, 40}), 40, 20, reader=30, writer_is_also_reader=2
)
REPLICATION = Family("replication", 50, frozenset({50, 60}), reader=60)


def server(hostgroup: int, host: str, **cells: str | int) -> dict[str, str | int]:
    return {"hostgroup_id": hostgroup, "hostname": host, "port": 3306, **cells}


def waiting(host: str, **cells: str | int) -> list[dict[str, str | int]]:
    """The rows of a node that reads, and could write."""
    return [
        server(10, host, status="SHUNNED", **cells),
        server(20, host, **cells),
        server(30, host, **cells),
    ]


def standing(*given: dict[str, str | int], **how: object) -> Standing:
    """Servers that are configured in hostgroup 10, or where no monitor places them."""
    runtime = rows("mysql_servers", *given)
    status, configured = SERVERS.index["status"], dict[object, object]()
    for row in runtime.values():
        cells = [*row]
        cells[0] = 10 if cells[0] in (20, 30, 40) else cells[0]
        cells[status] = "ONLINE"
        configured[SERVERS.key_of(tuple(cells))] = tuple(cells)
    return Standing(SERVERS, configured, runtime, (GALERA, REPLICATION), **how)  # type: ignore[arg-type]


def node(host: str) -> Node:
    return (host, 3306)


def places(image: Rows, host: str) -> dict[object, object]:
    """Return the status of a node's rows by hostgroup."""
    at = SERVERS.index
    return {
        row[at["hostgroup_id"]]: row[at["status"]]
        for row in image.values()
        if row[at["hostname"]] == host
    }


def limits(image: Rows, host: str) -> set[object]:
    at = SERVERS.index
    return {
        (row[at["weight"]], row[at["max_connections"]])
        for row in image.values()
        if row[at["hostname"]] == host
    }


THREE = standing(server(10, "n3"), *waiting("n1"), *waiting("n2"))


def test_a_reader_of_a_galera_cluster_keeps_its_places() -> None:
    image = drained_image(THREE, node("n2"))
    assert limits(image, "n2") == {(0, 0)}
    for host in ("n1", "n2", "n3"):
        assert places(image, host) == places(THREE.runtime, host)


def test_a_writer_swaps_places_with_the_heir_of_most_weight() -> None:
    three = standing(server(10, "n3"), *waiting("n1", weight=5), *waiting("n2"))
    image = drained_image(three, node("n3"))
    assert limits(image, "n3") == {(0, 0)}
    assert places(image, "n1") == {10: "ONLINE"}
    assert places(image, "n3") == {10: "SHUNNED", 20: "ONLINE", 30: "ONLINE"}
    assert places(image, "n2") == places(three.runtime, "n2")


def test_of_equal_weights_the_last_name_inherits_as_with_the_monitor() -> None:
    image = drained_image(THREE, node("n3"))
    assert places(image, "n2") == {10: "ONLINE"}


def test_a_drained_node_inherits_nothing_and_stays_drained() -> None:
    two = standing(
        server(10, "n3"),
        *waiting("n1"),
        *waiting("n2", weight=0, max_connections=0),
        drained=frozenset({node("n2")}),
    )
    image = drained_image(two, node("n3"))
    assert places(image, "n1")[10] == "ONLINE"
    assert limits(image, "n2") == {(0, 0)}
    assert [*reasons_against(two, node("n3"), image)] == [
        "hostgroup 30 would have no usable server: its last other node becomes the writer"
    ]


@pytest.mark.parametrize("host", ["n1", "n3"])
def test_of_two_nodes_none_is_drained_where_the_writer_does_not_read(host: str) -> None:
    two = standing(server(10, "n3"), *waiting("n1"))
    assert [*reasons_against(two, node(host), drained_image(two, node(host)))]


def test_a_server_outside_of_galera_gets_offline_soft() -> None:
    pair = standing(server(50, "m1"), server(60, "m2"), server(60, "m3"), server(70, "x"))
    image = drained_image(pair, node("m2"))
    assert places(image, "m2") == {60: "OFFLINE_SOFT"}
    assert [*reasons_against(pair, node("m2"), image)] == []
    assert [*reasons_against(pair, node("m1"), drained_image(pair, node("m1")))] == [
        "m1:3306 is the last usable server of hostgroup 50"
    ]
    assert [*reasons_against(pair, node("x"), drained_image(pair, node("x")))] == [
        "x:3306 is the last usable server of hostgroup 70"
    ]


def test_restored_it_serves_where_it_stands() -> None:
    drained = standing(
        server(10, "n2"),
        *waiting("n1"),
        *waiting("n3", weight=0, max_connections=0),
        drained=frozenset({node("n3")}),
    )
    configured = {**drained.configured}
    key = (10, "n3", 3306)
    at = SERVERS.index
    cells = [*configured[key]]
    cells[at["weight"]], cells[at["max_connections"]] = 7, 500
    configured[key] = tuple(cells)
    image = restored_image(
        Standing(SERVERS, configured, drained.runtime, (GALERA,), drained.drained), node("n3")
    )
    assert limits(image, "n3") == {(7, 500)}
    assert places(image, "n3") == places(drained.runtime, "n3")
    # Peers that take it over would keep the old writer among the backup writers.
    image = restored_image(
        Standing(SERVERS, configured, drained.runtime, (GALERA,), drained.drained, has_peers=True),
        node("n3"),
    )
    assert places(image, "n3") == {10: "ONLINE"}
    assert places(image, "n2") == {10: "SHUNNED", 20: "ONLINE", 30: "ONLINE"}


def test_an_old_primary_that_was_replaced_meanwhile_comes_back_as_a_replica() -> None:
    failed_over = standing(
        server(50, "m1", status="OFFLINE_SOFT"),
        server(50, "m2"),
        drained=frozenset({node("m1")}),
    )
    image = restored_image(failed_over, node("m1"))
    assert places(image, "m1") == {60: "ONLINE"}
    assert places(image, "m2") == {50: "ONLINE"}
