"""An apply is killed while rows that only keep the placement are staged in MEMORY.

The files do not manage the nodes of the family: nobody but a second run puts their rows back.
"""

from __future__ import annotations

import pytest

from tests.faults.proxy import FaultyProxy
from tests.journeys.killable import Killable
from tests.journeys.story import applied, plan
from tests.support.cli import Project
from tests.support.galera_family import GaleraFamily

FILES = {
    "an attribute of a hostgroup": "hostgroups: {{writer: {{id: 10, multiplex: {0}}}}}\n",
    "a server of another hostgroup": (
        "mysql_servers: [{{hostgroup_id: 50, hostname: db1, compression: {0}}}]\n"
        "manage: {{mysql_servers: {{hostgroup_id: 50}}}}\n"
    ),
}


@pytest.mark.parametrize("what", FILES)
def test_a_plain_second_run_finishes_and_gives_the_nodes_their_rows_back(
    family: GaleraFamily, offline: Project, proxy: FaultyProxy, what: str
) -> None:
    """At every statement from the first row that is staged to the last SAVE."""
    before, after = (FILES[what].format(value) for value in ("false", "true"))
    writer = family.writer
    offline.write(before)
    applied("--force")
    nodes = configured(family, "disk.")
    offline.write(after)
    killable = Killable(offline, proxy, ("apply", "--auto-approve"))
    for place, sql in killable.statements("mysql_servers SET", "SAVE MYSQL SERVERS"):
        offline.write(before)
        applied()
        offline.write(after)
        killable.kill_after(place)
        assert configured(family, "disk.") == nodes, sql
        assert family.writer == writer, sql
        applied("--lock-timeout", "0")
        assert plan().code == 0, sql
        assert configured(family, "") == configured(family, "disk.") == nodes, sql
        assert family.writer == writer, sql


def configured(family: GaleraFamily, layer: str) -> list[object]:
    """Return the rows of the family's nodes in a layer."""
    return [row for row in family.servers(layer) if row[0] != "50"]
