"""Variables that somebody wrote by hand: what an apply of ours makes of them, and leaves."""

from __future__ import annotations

import pytest

from proxyctl.catalog.variable_rules import CHARSET, COLLATION
from tests.journeys.layers import LAYERS, in_layers
from tests.journeys.story import apply, offered, plan, said
from tests.journeys.variables import at_runtime, write
from tests.support.cli import Project
from tests.support.servers import Instance


def by_hand(instance: Instance, values: dict[str, str], *steps: str) -> None:
    """Write variables into MEMORY as an operator does, and LOAD and SAVE them where asked."""
    for name, value in values.items():
        text = value.replace("'", "''")
        instance.execute(
            f"UPDATE global_variables SET variable_value='{text}' WHERE variable_name='{name}'"
        )
    for module in dict.fromkeys(name.split("-")[0].upper() for name in values):
        for step in steps:
            instance.execute(step.format(f"{module} VARIABLES"))


LOAD = "LOAD {} TO RUNTIME"
SAVE = "SAVE {} TO DISK"


def held(instance: Instance, *names: str) -> dict[str, tuple[str, ...]]:
    """Return by layer what it holds of these variables."""
    layers = in_layers(instance, "SELECT variable_name, variable_value FROM {}global_variables")
    return {
        layer: tuple(str(dict(rows).get(name)) for name in names) for layer, rows in layers.items()
    }


def everywhere(*values: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(LAYERS, values)


UTF8MB4_BIN = {CHARSET: "utf8mb4", COLLATION: "utf8mb4_bin"}


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        ({}, ("utf8mb4", "utf8mb4_general_ci")),
        (UTF8MB4_BIN, ("latin1", "latin1_swedish_ci")),
        ({CHARSET: "utf8mb3"}, ("utf8mb3", "utf8_bin")),
    ],
)
def test_a_character_set_and_its_collation_replace_others(
    project: Project, instance: Instance, edit: dict[str, str], named: tuple[str, str]
) -> None:
    by_hand(instance, edit, LOAD, SAVE)
    write(project, dict(zip((CHARSET, COLLATION), named, strict=True)))
    done = apply()
    assert done.code == 0, done.text
    assert held(instance, CHARSET, COLLATION) == everywhere(*named)
    assert plan().code == 0


CHECKSUM = "admin-checksum_mysql_users"
DIFFS = "admin-cluster_mysql_users_diffs_before_sync"


@pytest.mark.since("2.6.0", "not all of these variables")
@pytest.mark.parametrize(
    "edit",
    [
        {"admin-cluster_password": 'p"w', "admin-cluster_username": 'a""b'},
        {CHECKSUM: "false", DIFFS: "9"},
        {"mysql-server_capabilities": "33000", "mysql-have_ssl": "true"},
    ],
    ids=str,
)
def test_what_proxysql_shows_otherwise_stands_in_nobodys_way(
    project: Project, instance: Instance, edit: dict[str, str]
) -> None:
    for name in edit:
        # A row that is written again comes to the end, and the order of the rows counts.
        instance.execute(
            f"REPLACE INTO global_variables SELECT * FROM disk.global_variables"
            f" WHERE variable_name='{name}'"
        )
    by_hand(instance, edit, LOAD, SAVE)
    write(project, {"mysql-max_connections": 77, "admin-refresh_interval": 777})
    done = apply()
    assert done.code == 0, done.text
    assert plan().code == 0
    layers = held(instance, *edit)
    assert layers["MEMORY"] == layers["DISK"] == tuple(edit.values())


@pytest.mark.parametrize(
    "files", [{CHECKSUM: True}, {DIFFS: 3}, {CHECKSUM: True, DIFFS: 5}], ids=str
)
def test_a_checksum_that_is_off_is_turned_on_by_hand_first(
    project: Project, instance: Instance, files: dict[str, bool | int]
) -> None:
    by_hand(instance, {CHECKSUM: "false"}, LOAD, SAVE)
    write(project, files)
    refused = apply("--force")
    statements = (f"SET {CHECKSUM}='true'", *["LOAD ADMIN VARIABLES TO RUNTIME"] * 2)
    said(
        refused, 3, f"{CHECKSUM} is false at RUNTIME", f"{statements[0]} and twice {statements[1]}"
    )
    for statement in statements:
        instance.execute(statement)
    assert apply().code == 0
    assert held(instance, CHECKSUM)["RUNTIME"] == ("true",)
    assert plan().code == 0


@pytest.mark.since("2.6.6", "no mysql-proxy_protocol_networks")
@pytest.mark.parametrize(
    ("name", "runs", "text"),
    [
        ("admin-cluster_username", "u", ""),
        ("mysql-proxy_protocol_networks", "*", "everywhere"),
    ],
)
def test_a_text_that_a_load_leaves_in_memory_is_pending(
    project: Project, instance: Instance, name: str, runs: str, text: str
) -> None:
    by_hand(instance, {name: runs}, LOAD, SAVE)
    by_hand(instance, {name: text}, LOAD)
    assert at_runtime(instance)[name] == runs
    write(project, {"admin-refresh_interval": 777, "mysql-max_connections": 77})
    refused = apply()
    assert refused.code == 3, refused.text
    assert f"{name}: edited in MEMORY" in refused.text
    for statement in offered("take back:"):
        instance.execute(statement)
    assert apply().code == 0
