"""Everything that upgrade-check says is seen when another release starts on the same DISK.

And nothing else changes: variables, rows, listeners and answers are compared before and after.
"""

from __future__ import annotations

import os
from contextlib import closing
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pymysql
import pytest

from proxyctl.catalog import TABLES, layout_of
from proxyctl.upgrade.variables import new_variables
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.servers.instances import (
    ProxySQL,
    binary_version,
    free_port,
    needed_binary,
    other_binary,
)

pytestmark = [pytest.mark.real]

FILES = """\
version: 1
keep_fast_routing_alive: false
hostgroups: {writer: {id: 10}, reader: {id: 20}}
variables: {mysql-max_connections: 4096}
mysql_servers:
  - {hostgroup_id: writer, hostname: 127.0.0.1, port: 1}
  - {hostgroup_id: reader, hostname: 127.0.0.1, port: 1}
mysql_users:
  - {username: app, password: app, default_hostgroup: writer}
mysql_query_rules:
  - {rule_id: 5, digest: '0x0D606F0A70E52E6E', OK_msg: by digest, apply: true}
  - {rule_id: 6, client_addr: 127.0.0.0/8, error_msg: by subnet, apply: true}
  - {rule_id: 7, match_digest: '^SELECT [\\w-.]+ tail', error_msg: by pattern, apply: true}
  - {rule_id: 8, match_digest: '^SELECT', error_msg: by the last rule, apply: true}
mysql_query_rules_fast_routing:
  - {username: app, schemaname: s, flagIN: 0, destination_hostgroup: reader}
routing_tests:
  - {query: SELECT 1 -- tail, username: app, expect: {rule_id: 5}}
"""

Held = dict[str, Any]


def test_up_and_back(offline: Project, tmp_path: Path) -> None:
    older, newer = sorted((needed_binary(), other_binary()), key=binary_version)
    with ProxySQL(older, tmp_path / "proxysql") as server:
        offline.connect(server.instance)
        offline.write(FILES)
        applied()
        _leave_unsaved(server)
        before, said = _held(server), _check(server, newer)
        assert _answer(server, "SELECT 1 -- tail") == "OK"
        _start(server, newer)
        after = _held(server)
        _upgraded_as_said(server, said, before, after)
        assert plan().code == 2  # the row that was saved and not loaded is at RUNTIME now
        _use_what_the_older_lacks(server)
        said = _check(server, older)
        _start(server, older)
        _downgraded_as_said(said, after, _held(server))
        _has_statistics_of_2x(server, said)
        _start(server, newer)
        assert server.instance.query("SELECT hostname FROM runtime_pgsql_servers") == [("pg1",)]
        assert _variables(server, "runtime_")["mysql-protocol_compression_level"] == "5"


def test_addresses_that_were_chosen_before(offline: Project, tmp_path: Path) -> None:
    older, newer = sorted((needed_binary(), other_binary()), key=binary_version)
    if binary_version(older) >= (3, 0, 0):
        pytest.skip("no upgrade to the first release with PostgreSQL: needs a 2.x")
    with ProxySQL(older, tmp_path / "proxysql") as server:
        offline.connect(server.instance)
        (finding,) = _of(_check(server, newer), "listener-opens")
        chosen = {"pgsql-interfaces": free_port(), "admin-pgsql_ifaces": free_port()}
        statements = [
            statement for statement in finding["fix"].split("; ") if "INSERT INTO " in statement
        ]
        assert len(statements) == 2
        for statement in statements:
            _, sql = statement.split("INSERT INTO ")
            name = next(name for name in chosen if name in sql)
            begin = sql.rindex(":")
            server.instance.execute(f"INSERT INTO {sql[:begin]}:{chosen[name]}')")
        assert not _of(_check(server, newer), "listener-opens")
        own = _listeners(server.pid)
        _start(server, newer)
        assert _listeners(server.pid) - own == {f"127.0.0.1:{port}" for port in chosen.values()}


# What is done ------------------------------------------------------------------------------------


def _leave_unsaved(server: ProxySQL) -> None:
    server.instance.execute(
        "UPDATE mysql_servers SET weight=7 WHERE hostgroup_id=20",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest) VALUES (4, 1, 'never')",
        "SAVE MYSQL QUERY RULES TO DISK",
    )


def _use_what_the_older_lacks(server: ProxySQL) -> None:
    server.instance.execute(
        "INSERT INTO pgsql_servers (hostgroup_id, hostname) VALUES (1, 'pg1')",
        "UPDATE global_variables SET variable_value='5'"
        " WHERE variable_name='mysql-protocol_compression_level'",
        "UPDATE global_variables SET variable_value='200'"
        " WHERE variable_name='mysql-query_digests_grouping_limit'",
    )
    server.instance.load("PGSQL SERVERS", "MYSQL VARIABLES", saves=True)


def _start(server: ProxySQL, binary: str) -> None:
    server.stop()
    server.binary = binary
    server.start()


# What is compared --------------------------------------------------------------------------------


def _upgraded_as_said(server: ProxySQL, said: Any, before: Held, after: Held) -> None:
    """Compare what an upgrade changed with what was said about it."""
    version = binary_version(server.binary)
    older = said["version"]
    assert not _of(said, "variable-gone", "variable-refused", "default-changed", "table-gone")
    assert not _of(said, "column-gone", "value-refused", "files-refused", "pattern-changes")
    # Variables and rows.
    old, new = before["disk variables"], after["disk variables"]
    assert {name: new[name] for name in old} == old
    added = {*new} - {*old}
    assert added == {*new_variables(_version(older), version)}
    (note,) = _of(said, "new-in-release")
    listed = [name for name in added if not name.startswith("pgsql-")]
    assert all(name in note["message"] for name in listed)
    assert before["disk rows"] == after["disk rows"]
    # What a restart publishes and takes back, and nothing else at RUNTIME.
    changed = {
        table
        for table, rows in before["runtime rows"].items()
        if after["runtime rows"][table] != rows
    }
    assert changed == {"mysql_servers", "mysql_query_rules"}
    assert [_relied(finding) for finding in _of(said, "not-saved")] == [
        ["server 127.0.0.1:1 in hostgroup 20"]
    ]
    assert [_relied(finding) for finding in _of(said, "not-loaded")] == [["rule 4"]]
    weight = "SELECT weight FROM runtime_mysql_servers WHERE hostgroup_id=20"
    assert server.instance.query(weight) == [("1",)]
    # Listeners.
    opened = after["listeners"] - before["listeners"]
    (finding,) = _of(said, "listener-opens")
    assert opened == {"0.0.0.0:6132", "0.0.0.0:6133"}
    assert all(address in finding["message"] for address in opened)
    # Digests, and rules by digest.
    assert [_relied(finding) for finding in _of(said, "digest-may-change")] == [["rule 5"]]
    (failing,) = _of(said, "routing-test-fails")
    assert failing["message"].startswith("rule_id: expected 5")
    assert _answer(server, "SELECT 1 -- tail") == "by the last rule"
    # Statistics.
    (renamed,) = [
        finding for finding in _of(said, "statistics-change") if finding["subject"] == "statistics"
    ]
    metrics = {row[0] for row in server.instance.query("SELECT * FROM stats_memory_metrics")}
    assert "query_digest_memory" not in metrics
    assert "mysql_query_digest_memory" in metrics
    assert "mysql_query_digest_memory" in renamed["message"]


def _downgraded_as_said(said: Any, before: Held, after: Held) -> None:
    """Compare what a downgrade changed with what was said about it."""
    (downgrade,) = _of(said, "downgrade")
    assert "does not listen for PostgreSQL" in downgrade["message"]
    assert [finding["subject"] for finding in _of(said, "table-gone")] == ["pgsql_servers"]
    assert "pgsql_servers" not in after["tables"]
    gone = [finding["subject"] for finding in _of(said, "variable-gone")]
    assert gone == ["mysql-protocol_compression_level"]
    refused = [finding["subject"] for finding in _of(said, "variable-refused")]
    assert refused == ["mysql-query_digests_grouping_limit"]
    runtime = after["runtime variables"]
    assert gone[0] not in runtime
    disk = after["disk variables"]
    assert disk[gone[0]] == "5"
    # Nothing else differs from what the newer release held on DISK.
    changed = {name for name, value in before["disk variables"].items() if disk[name] != value}
    assert changed == {*gone, *refused}
    assert after["disk rows"] == before["disk rows"]
    assert after["runtime rows"] == before["runtime rows"]
    assert after["listeners"] == {
        address for address in before["listeners"] if not address.startswith("0.0.0.0:613")
    }


def _has_statistics_of_2x(server: ProxySQL, said: Any) -> None:
    (renamed,) = _of(said, "statistics-change")
    metrics = {row[0] for row in server.instance.query("SELECT * FROM stats_memory_metrics")}
    assert "mysql_query_digest_memory" not in metrics
    assert "query_digest_memory" in metrics
    assert "query_digest_memory" in renamed["message"]


def _version(text: str) -> Any:
    from proxyctl.catalog import parse_version

    return parse_version(text)


def _check(server: ProxySQL, binary: str) -> Any:
    """Return what upgrade-check says, as JSON."""
    at = ("--host", "127.0.0.1", "--port", str(server.port))
    to = str(binary_version(binary))
    found = proxyctl("upgrade-check", *at, "--to", to, "--format", "json")
    assert found.code == (2 if found.json["decisions"] else 0), found.text
    return found.json


def _of(said: Any, *codes: str) -> list[Any]:
    return [finding for finding in said["findings"] if finding["code"] in codes]


def _relied(finding: Any) -> list[str]:
    return [reliance["text"] for reliance in finding["relies_on"]]


def _held(server: ProxySQL) -> Held:
    """Return what a ProxySQL holds: tables that both releases have, variables, listeners."""
    tables = {str(name) for (name,) in server.instance.query("SHOW TABLES FROM main")}
    common = [
        table
        for table in TABLES.values()
        if table.prefix is None and not table.name.startswith("pgsql_") and table.name in tables
    ]
    return {
        "tables": tables,
        "disk rows": {table.name: _rows(server, f"disk.{table.name}", table) for table in common},
        "runtime rows": {
            table.name: _rows(server, f"runtime_{table.name}", table) for table in common
        },
        "disk variables": _variables(server, "disk."),
        "runtime variables": _variables(server, "runtime_"),
        "listeners": _listeners(server.pid),
    }


def _rows(server: ProxySQL, name: str, table: Any) -> list[Any]:
    columns = ", ".join(layout_of(table, server.instance.version).names)
    return sorted(server.instance.query(f"SELECT {columns} FROM {name}"), key=repr)


def _variables(server: ProxySQL, prefix: str) -> dict[str, str]:
    rows = server.instance.query(
        f"SELECT variable_name, variable_value FROM {prefix}global_variables"
        " WHERE variable_name != 'admin-version'"
    )
    return {str(name): str(value) for name, value in rows}


_LISTEN = "0A"


def _listeners(pid: int) -> set[str]:
    """Return the IPv4 addresses with ports on which a process listens."""
    links = (
        os.readlink(handle) for handle in Path(f"/proc/{pid}/fd").iterdir() if handle.is_symlink()
    )
    inodes = {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
    found = set()
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == _LISTEN and fields[9] in inodes:
            address, port = fields[1].split(":")
            host = IPv4Address(bytes.fromhex(address)[::-1])
            found.add(f"{host}:{int(port, 16)}")
    return found


def _answer(server: ProxySQL, query: str) -> str:
    """Return `OK`, or the text of the error that a rule gives a client."""
    with (
        closing(
            pymysql.connect(
                host="127.0.0.1",
                port=server.traffic_port,
                user="app",
                password="app",
                ssl_disabled=True,
            )
        ) as client,
        closing(client.cursor()) as cursor,
    ):
        try:
            cursor.execute(query)
        except pymysql.err.MySQLError as error:
            return str(error.args[1])
        return "OK"
