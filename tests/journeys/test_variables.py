"""Apply every variable of the catalogue, with values that `validate` accepts.

Each round gives every variable one value. The apply compares RUNTIME with the runtime image, and a
second plan has to be empty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from proxyctl.catalog import REFERENCE, TABLES, Variable, VariableKind, Version, layout_of
from proxyctl.catalog.variable_rules import CHARSET, COLLATION, DIFFS_BY_CHECKSUM, KEYLOG, bounds
from proxyctl.catalog.variables import NEVER_EMPTY, READ_ONLY, RESTART_ONLY, STEPS, VARIABLES
from proxyctl.config.files import load_project
from proxyctl.config.sources import Sources
from proxyctl.proxysql.compare import differences
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.rows.row import Rows
from tests.support.commands.cli import Project
from tests.support.commands.story import applied, apply, ended, offered, plan
from tests.support.servers.instances import Instance
from tests.support.servers.layers import LAYERS, in_layers


def write(project: Project, values: Mapping[str, object]) -> None:
    # JSON is YAML, and quotes every text.
    project.write(json.dumps({"variables": values}))


def at_runtime(instance: Instance) -> dict[str, str]:
    rows = instance.query("SELECT variable_name, variable_value FROM runtime_global_variables")
    return {str(name): str(value) for name, value in rows}


ROUNDS = 6

OMITTED = READ_ONLY | RESTART_ONLY | {
    "admin-admin_credentials",  # locks us out
    "admin-mysql_ifaces",  # moves the admin port
    "admin-pgsql_ifaces",
    "admin-read_only",  # refuses every later statement
    "admin-restapi_enabled",  # opens a port
    "admin-stats_credentials",
    "admin-telnet_admin_ifaces",
    "admin-telnet_stats_ifaces",
    "admin-web_enabled",  # opens a port
}  # fmt: skip

CHARSETS = [
    ("utf8mb4", "utf8mb4_0900_ai_ci"),
    ("LATIN1", "latin1_bin"),
    ("utf8mb3", "UTF8_bin"),
    ("binary", "binary"),
    ("utf16le", "utf16le_nopad_bin"),
    ("utf8", "utf8_general_ci"),
]

TEXTS: dict[str, list[str]] = {
    CHARSET: [charset for charset, _ in CHARSETS],
    COLLATION: [collation for _, collation in CHARSETS],
    "admin-ssl_keylog_file": ["", "{folder}/keys", "{folder}/ä b"],
    "mysql-auditlog_filename": ["audit", "", "{folder}/audit"],
    "mysql-default_authentication_plugin": ["caching_sha2_password", "mysql_native_password"],
    "mysql-default_session_track_gtids": ["own_gtid", "Off", "OWN_GTID", "OFF"],
    "mysql-eventslog_filename": ["events", "", "{folder}/events"],
    "mysql-monitor_replication_lag_use_percona_heartbeat": ["", "percona.heartbeat", "`A`.`b_1`"],
    "mysql-proxy_protocol_networks": ["*", "10.0.0.0/8", "", "::1/128,192.168.0.0/16", ","],
    "mysql-server_version": ["8.0.36", "5.1.73", "5.1", "10.11.6-MariaDB", "5.5.30"],
    "pgsql-default_client_encoding": ["LATIN1", "utf8", "SQL_ASCII"],
    "pgsql-default_datestyle": ["SQL, DMY", "iso, mdy", "German, YMD"],
    "pgsql-default_intervalstyle": ["sql_standard", "ISO_8601", "postgres"],
    "pgsql-default_session_track_gtids": ["own_gtid", "Off", "OWN_GTID", "OFF"],
    "pgsql-default_standard_conforming_strings": ["off", "ON"],
    "pgsql-server_encoding": ["LATIN1", "utf8", "SQL_ASCII"],
}

CAPABILITIES = (0x8000, 2**31 - 1, 569867)

ANY_TEXT = ["a", "it's", "é ☃", " blanks ", "back\\slash\nline", "0"]


def sample(variable: Variable, number: int, folder: Path, version: Version) -> object:
    """Return the value of a variable in a round; all rounds together cover its limits."""
    match variable.kind:
        case VariableKind.BOOL:
            return variable.name in DIFFS_BY_CHECKSUM or number % 2 == 0
        case VariableKind.INT:
            low, high = bounds(variable, version)
            if variable.name == "mysql-server_capabilities":
                return min(high, CAPABILITIES[number % len(CAPABILITIES)])
            numbers = STEPS.get(variable.name) or (low, high, (low + high) // 2, low + 1)
            return numbers[number % len(numbers)]
    texts = TEXTS.get(variable.name, ANY_TEXT)
    if variable.name not in TEXTS and variable.name not in NEVER_EMPTY:
        texts = [*texts[:-1], ""]
    return texts[number % len(texts)].format(folder=folder)


def values_of(number: int, folder: Path, version: Version) -> dict[str, object]:
    return {
        name: sample(variable, number, folder, version)
        for name, variable in VARIABLES.items()
        if variable.exists_in(version) and name not in OMITTED
    }


@pytest.mark.parametrize("number", range(ROUNDS))
def test_every_variable_becomes_what_the_file_says(
    project: Project, instance: Instance, tmp_path: Path, number: int
) -> None:
    version = instance.version
    write(project, values_of(number, tmp_path, version))
    files = Sources((str(project.folder / "proxyctl.yaml"),))
    desired = load_project(files, version=version).desired
    applied()
    assert plan().code == 0, plan().text
    shown = at_runtime(instance)
    wanted = [row for table in desired.tables.values() for row in table.rows.values()]
    assert len(wanted) > 180
    assert {row: shown[str(row[0])] for row in wanted} == {row: row[1] for row in wanted}


@pytest.mark.since("2.6.0", "capabilities above 65535 are refused")
@pytest.mark.parametrize(
    "values",
    [
        {CHARSET: "latin1", COLLATION: "latin1_bin"},
        {"mysql-default_session_track_gtids": "own_gtid"},
        {"mysql-have_ssl": False, "mysql-have_compress": False},
    ],
    ids=str,
)
def test_what_a_variable_takes_along_is_no_difference_afterwards(
    project: Project, instance: Instance, values: dict[str, object]
) -> None:
    write(project, values)
    applied()
    assert plan().code == 0
    write(project, {**values, "mysql-max_connections": 77, "admin-refresh_interval": 777})
    applied()
    shown = at_runtime(instance)
    for layer in ("main", "disk"):
        rows = instance.query(f"SELECT variable_name, variable_value FROM {layer}.global_variables")
        held = {str(name): str(value) for name, value in rows}
        assert {name for name, value in shown.items() if held[name] != value} <= RESTART_ONLY


AWKWARD = (
    "", "0", "7", "-1", "true", "TRUE", "abc", 'a"b', 'a""b', "(null)", "(NULL)", " ", "keys",
    "/nonexistent/x", "x/", "../x", "utf8mb4", "utf8mb4_bin", "a.b", "*", "10.0.0.0/8",
    "99999999999", "é☃", "it's", "\\", "OWN_GTID", "5.1.30", "1.5", "0x10", " 5 ", "a\nb", "%", ";",
)  # fmt: skip
STAY_IN_MEMORY = {
    "admin-cluster_password",
    "admin-cluster_username",
    "admin-ssl_keylog_file",
    "mysql-proxy_protocol_networks",
}
"""A LOAD leaves some texts of these in MEMORY, and RUNTIME as it was: a plan calls them pending."""
DANGEROUS = OMITTED | {
    "mysql-have_compress",  # refused, it leaves its capability off until the next LOAD
    "mysql-have_ssl",
    "mysql-server_capabilities",  # may keep us out
    "mysql-server_version",  # PyMySQL wants a number
}


@pytest.mark.since("2.6.0", "not all of these variables")
def test_nothing_is_pending_after_a_load_of_any_text(instance: Instance) -> None:
    # The sandbox refuses most texts of the last three.
    left_out = DANGEROUS | STAY_IN_MEMORY | {CHARSET, COLLATION, KEYLOG}
    names = [n for n, v in VARIABLES.items() if v.exists_in(REFERENCE) and n not in left_out]
    listed = ",".join(f"'{name}'" for name in names)
    for text in AWKWARD:
        quoted = text.replace("'", "''")
        instance.execute(
            f"UPDATE global_variables SET variable_value='{quoted}'"
            f" WHERE variable_name IN ({listed})"
        )
        found = []
        for prefix in ("mysql", "admin"):
            instance.execute(f"LOAD {prefix.upper()} VARIABLES TO RUNTIME")
            found += pending(instance, prefix)
        assert not found, f"after {text!r}"


def pending(instance: Instance, prefix: str) -> list[tuple[object, object, object]]:
    """Return the variables whose value in MEMORY a LOAD would show differently at RUNTIME."""
    layout = layout_of(TABLES[f"{prefix}_variables"], REFERENCE)
    sql = (
        "SELECT variable_name, variable_value FROM {} WHERE variable_name LIKE '{}-%'"
        " ORDER BY rowid"
    )
    found: list[Rows] = [
        {(name,): (name, text) for name, text in instance.query(sql.format(table, prefix))}
        for table in ("main.global_variables", "main.runtime_global_variables")
    ]
    memory, runtime = found
    return [
        (difference.key[0], difference.current, difference.desired)
        for difference in differences(layout, runtime, runtime_image(layout, memory).items())
        if difference.key[0] not in RESTART_ONLY | READ_ONLY
    ]


def by_hand(instance: Instance, values: dict[str, str], *steps: str) -> None:
    """Write variables into MEMORY as an operator does, with LOAD and SAVE if requested."""
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
    """Return the values of these variables by layer."""
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
    applied()
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
def test_a_value_that_proxysql_shows_differently_blocks_no_plan(
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
    applied()
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
    ended(refused, 3, f"{CHECKSUM} is false at RUNTIME", f"{statements[0]}, {statements[1]} twice")
    for statement in statements:
        instance.execute(statement)
    applied()
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
    ended(refused, 3, f"{name}: edited in MEMORY")
    for statement in offered("take back:"):
        instance.execute(statement)
    applied()
