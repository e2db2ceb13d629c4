"""Every variable of the catalogue, with values that `validate` accepts, through a whole apply.

A round gives every variable one value. The apply reads RUNTIME back and compares it with the
runtime image, and a second plan has to be empty. On the sandbox the same rounds have to pass.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.catalog import REFERENCE, TABLES, Variable, VariableKind, Version, layout_of
from proxyctl.catalog.variable_rules import CHARSET, COLLATION, DIFFS_BY_CHECKSUM, KEYLOG, bounds
from proxyctl.catalog.variables import NEVER_EMPTY, READ_ONLY, RESTART_ONLY, STEPS, VARIABLES
from proxyctl.config.files import Sources
from proxyctl.config.project import load_project
from proxyctl.state.compare import differences
from proxyctl.state.row import Rows
from proxyctl.state.runtime import runtime_image
from tests.journeys.story import apply, plan
from tests.journeys.variables import at_runtime, write
from tests.support.cli import Project
from tests.support.servers import Instance

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
    """Return the value of a variable in a round; all rounds together try its limits."""
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
    done = apply()
    assert done.code == 0, done.text
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
    done = apply()
    assert done.code == 0, done.text
    assert plan().code == 0
    write(project, {**values, "mysql-max_connections": 77, "admin-refresh_interval": 777})
    done = apply()
    assert done.code == 0, done.text
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
    """Return what MEMORY holds and RUNTIME would show otherwise after a LOAD."""
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
        (one.key[0], one.current, one.desired)
        for one in differences(layout, runtime, runtime_image(layout, memory).items())
        if one.key[0] not in RESTART_ONLY | READ_ONLY
    ]
