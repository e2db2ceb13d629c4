"""Which rows the move of a writer explains, as a peer sends them back, and which are edits."""

from __future__ import annotations

import pytest

from proxyctl.catalog import REFERENCE, TABLES, layout_of
from proxyctl.families import Family, ServerColumns
from proxyctl.nodes.writer_move import WriterMove
from proxyctl.state import Rows
from tests.support.build import rows

SERVERS = layout_of(TABLES["mysql_servers"], REFERENCE)
GALERA = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40, backup=20)


def servers(*given: tuple[int, str, dict[str, str | int]]) -> Rows:
    listed = [{"hostgroup_id": group, "hostname": host, **cells} for group, host, cells in given]
    return rows("mysql_servers", *listed)


OFF = (2, "out", {"status": "OFFLINE_HARD"})
BEFORE = servers((1, "db", {}), OFF, (10, "n1", {}), (10, "n2", {}))
MOVE = WriterMove(
    ServerColumns.of(SERVERS),
    (GALERA,),
    BEFORE,
    servers((1, "db", {}), OFF, (10, "n1", {}), (10, "n2", {"weight": 2, "status": "SHUNNED"})),
)
HEIR = {"weight": 2}
SENT = [(1, "db", {}), (10, "n2", HEIR), (20, "n1", {}), (30, "n1", {})]


def test_what_a_peer_sends_back_is_as_it_was() -> None:
    """Its monitor placed the nodes, and RUNTIME does not show what is OFFLINE_HARD."""
    assert MOVE.undone(servers(*SENT)) == (BEFORE, [])
    leaving = (30, "n2", {"weight": 2, "status": "OFFLINE_HARD"})
    assert MOVE.undone(servers(*SENT, leaving)) == (BEFORE, [])
    assert MOVE.has_weights(servers(*SENT))


@pytest.mark.parametrize(
    ("edit", "stays"),
    [
        ((9, "new", {}), (9, "new", {})),
        ((1, "db", {"max_connections": 3}), (1, "db", {"max_connections": 3})),
        ((10, "n2", {**HEIR, "comment": "x"}), (10, "n2", {"comment": "x"})),  # not our weight
        ((10, "n2", {"weight": 7}), (10, "n2", {"weight": 7})),
        ((10, "n2", {**HEIR, "status": "OFFLINE_SOFT"}), (10, "n2", {"status": "OFFLINE_SOFT"})),
    ],
)
def test_an_edit_beside_it_stays(
    edit: tuple[int, str, dict[str, str | int]], stays: tuple[int, str, dict[str, str | int]]
) -> None:
    sent = [one for one in SENT if one[:2] != edit[:2]]
    found, edited = MOVE.undone(servers(*sent, edit))
    assert found == BEFORE | servers(stays)
    assert edited == [*servers(edit)]


def test_a_row_that_is_gone_is_an_edit() -> None:
    found, edited = MOVE.undone(servers(*SENT[1:]))
    assert edited == [*servers((1, "db", {}))]
    assert found == {key: row for key, row in BEFORE.items() if key not in edited}


def test_what_is_loaded_again_holds_no_edit_that_runtime_does_not() -> None:
    runtime = servers((1, "db", {"status": "SHUNNED"}), *SENT[1:])
    assert MOVE.as_loaded(runtime) == BEFORE
