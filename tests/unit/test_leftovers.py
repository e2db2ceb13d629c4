"""What the lock of a dead command says of what it left."""

from __future__ import annotations

from proxyctl.leftovers import as_on_record, nodes_of, soft_leaver


def test_the_nodes_whose_command_died() -> None:
    marks = {as_on_record(("db2", 3306)), soft_leaver((10, "db1", 3306)), "MYSQL SERVERS"}
    assert nodes_of(marks) == [("db2", 3306)]


def test_rows_of_the_lock_that_others_wrote_name_none() -> None:
    written = as_on_record(("", 0)).removesuffix('["", 0]')
    assert nodes_of({written + text for text in ("junk", "7", "[1]", "{}", "")}) == []
