"""Reading a proxysql.cnf: the rows that ProxySQL makes of it, and a note on all it ignores."""

from __future__ import annotations

import pytest

from proxyctl.catalog import Value, Version
from proxyctl.errors import ConfigError
from proxyctl.formats.cnf_reader import CnfContent, read_cnf

RULES = "mysql_query_rules"


def read(text: str) -> CnfContent:
    return read_cnf(text, "p.cnf", version=Version(2, 7, 1))


def rows_of(imported: CnfContent, table: str) -> list[dict[str, Value]]:
    """The rows of a table, without what a fresh row has anyway."""
    of, found = imported.tables[table]
    return [
        {
            name: value
            for name, value, default in zip(of.names, one, of.defaults, strict=True)
            if value != default
        }
        for one in found
    ]


def test_variables() -> None:
    found = read(
        """
        datadir = "/var/lib/proxysql"
        admin_variables = {
            admin_credentials = "admin:admin;radmin:x"
            admin-refresh_interval = 300
            stats_system_cpu = 61
            version = "2.7"
            telnet_admin_ifaces = "(null)"
        }
        mysql_variables : {
            threads = 4, max_connections = "88"; wait_timeout = 3000000000
            connect_timeout_server = 0x10
            query_cache_size_MB = "64M"
            multiplexing = TRUE
            verbose_query_error = "maybe"
            server_version = "5.1.30"
            stack_size = 5
            ping_timeout_server = 999999
            monitor_username = ""
            init_connect = "SET x=\\"y\\""
            client_found_rows = true
            hash_passwords = false
            monitor_password = "a" "b"
        }
        """
    )
    assert found.variables == {
        "admin-admin_credentials": "admin:admin;radmin:x",
        "admin-stats_system_cpu": "120",
        "mysql-threads": "4",
        "mysql-max_connections": "88",
        "mysql-wait_timeout": "0",
        "mysql-connect_timeout_server": "16",
        "mysql-query_cache_size_MB": "64",
        "mysql-multiplexing": "true",
        "mysql-server_version": "5.5.30",
        "mysql-monitor_password": "ab",
    }
    assert found.stays == ["datadir"]
    assert found.notes == [
        "p.cnf:5: admin-refresh_interval: the group adds the prefix again, so ProxySQL ignores the"
        " line",
        "p.cnf:6: admin-stats_system_cpu: ProxySQL reads '61' as 120",
        "p.cnf:7: admin-version: read-only: it cannot be set",
        "p.cnf:8: admin-telnet_admin_ifaces: (null) means that it has no value",
        "p.cnf:11: mysql-wait_timeout: ProxySQL reads a 64-bit number as 0",
        "p.cnf:13: mysql-query_cache_size_MB: ProxySQL reads '64M' as 64",
        "p.cnf:15: mysql-verbose_query_error: ProxySQL refuses 'maybe' and keeps false",
        "p.cnf:16: mysql-server_version: ProxySQL reads '5.1.30' as 5.5.30",
        "p.cnf:17: mysql-stack_size: ProxySQL has no such variable; did you mean stacksize?",
        "p.cnf:18: mysql-ping_timeout_server: ProxySQL refuses '999999' and keeps 200",
        "p.cnf:19: mysql-monitor_username: ProxySQL refuses '' and keeps monitor",
        "p.cnf:20: mysql-init_connect: ProxySQL cannot read a double quote in a variable",
        "p.cnf:21: mysql-client_found_rows: removed: ProxySQL 2.3.2 was the last to have it",
        "p.cnf:22: mysql-hash_passwords: ProxySQL has no such variable;"
        " did you mean admin-hash_passwords?",
    ]


def test_texts_that_proxysql_refuses_or_rewrites() -> None:
    texts = 'server_version="5.1.73" default_session_track_gtids="own_gtid" default_charset="nope"'
    found = read(
        f'mysql_variables = {{ {texts} proxy_protocol_networks="abc" server_capabilities=5 }}'
    )
    assert found.variables == {
        "mysql-server_version": "5.1.73",
        "mysql-default_session_track_gtids": "OWN_GTID",
    }
    assert len(found.notes) == 3


def test_variables_must_be_a_group() -> None:
    with pytest.raises(ConfigError) as caught:
        read("mysql_variables = ( { threads = 4 } )")
    assert (
        "p.cnf:1:19: mysql_variables: expected a group { }, got a list ( )"
        in caught.value.lines()[0]
    )


def test_entries_as_proxysql_takes_them() -> None:
    found = read(
        r"""
        mysql_servers = (
            { address="a"; hostgroup=1; port="3307"; status="offline_soft"; comment="it's" },
            { hostname="b"; hostgroup=2; hostgroup_id=3; use_ssl=true },
            { address="c"; hostgroup="3" },
            { address="d"; hostgroup=1; compression=2 },
            { address="e\"e"; hostgroup=1 },
            { address="f"; hostgroup=1; status="gone" }
        )
        mysql_replication_hostgroups = (
            { writer_hostgroup=1; reader_hostgroup=2 },
            { writer_hostgroup=3; reader_hostgroup=2; check_type="read_only|innodb_read_only" }
        )
        mysql_users = (
            { username="app"; password="x" },
            { username="app"; password="y"; backend=0; active=true },
            { username="bad"; password="it's" },
        )
        mysql_query_rules = (
            { rule_id=1; match_digest="^SELECT\s\\d"; flagin=5; destination_hostgroup="5" },
            { rule_id=2; active=0; apply=7; flagOUT=-1; OK_msg="" },
            { match_digest="no id" },
            { rule_id=3; error_msg="say \"no\"" },
            5
        )
        mysql_query_rules_fast_routing = ( { username="u" } )
        proxysql_server = ( )
        scheduler = [ 1 ]
        """
    )
    assert rows_of(found, "mysql_servers") == [
        {"hostgroup_id": 1, "hostname": "a", "status": "offline_soft", "comment": "it's"},
        {"hostgroup_id": 2, "hostname": "b"},
        {"hostgroup_id": 1, "hostname": "d", "compression": 2},
        {"hostgroup_id": 1, "hostname": "f"},
    ]
    assert rows_of(found, "mysql_replication_hostgroups") == [
        {"writer_hostgroup": 3, "reader_hostgroup": 2}
    ]
    assert rows_of(found, "mysql_users") == [
        {"username": "app", "password": "y", "default_schema": ""},
    ]
    assert rows_of(found, RULES) == [
        {"rule_id": 1, "active": 1, "match_digest": r"^SELECT\s\d"},
        {"rule_id": 2, "apply": 7, "flagOUT": -1, "OK_msg": ""},
    ]
    assert found.notes == [
        "p.cnf:3: mysql_servers: port: expected a number, got text: ignored",
        "p.cnf:4: mysql_servers: use_ssl: expected a number, got true or false: ignored",
        "p.cnf:5: mysql_servers: hostgroup: expected a number, got text: ignored",
        "p.cnf:5: mysql_servers: an entry without hostgroup or hostgroup_id: ProxySQL skips it",
        'p.cnf:7: mysql_servers: hostgroup_id 1, hostname e"e: hostname: ProxySQL before 3.0.4'
        " loses or changes a row with a double quote",
        "p.cnf:8: mysql_servers: status: ProxySQL reads 'gone' as ONLINE",
        "p.cnf:12: mysql_replication_hostgroups: check_type: ProxySQL reads"
        " 'read_only|innodb_read_only' as read_only",
        "p.cnf:12: mysql_replication_hostgroups: writer_hostgroup 3, reader_hostgroup 2: replaces"
        " the entry at p.cnf:11",
        "p.cnf:16: mysql_users: active: expected a number, got true or false: ignored",
        "p.cnf:16: mysql_users: backend: ProxySQL does not read it from a .cnf: it is 1",
        "p.cnf:16: mysql_users: username app: replaces the entry at p.cnf:15",
        "p.cnf:17: mysql_users: username bad: password: ProxySQL before 3.0.4 loses or changes a"
        " row with a single quote",
        "p.cnf:20: mysql_query_rules: destination_hostgroup: expected a number, got text: ignored",
        "p.cnf:20: mysql_query_rules: flagin: ProxySQL has no such key; did you mean flagIN?",
        "p.cnf:22: mysql_query_rules: an entry without rule_id: ProxySQL skips it",
        "p.cnf:23: mysql_query_rules: rule_id 3: error_msg: ProxySQL before 3.0.4 loses or changes"
        " a row with a double quote",
        "p.cnf:24: mysql_query_rules: expected an entry { }, got a number: skipped",
        "p.cnf:26: mysql_query_rules_fast_routing: many versions of ProxySQL do not read this table"
        " from a .cnf: left out",
        "p.cnf:27: proxysql_server: ProxySQL has no such key; did you mean proxysql_servers?",
        "p.cnf:28: scheduler: expected a list ( ), got an array [ ]",
    ]


def test_no_password_in_a_note() -> None:
    found = read(
        'admin_variables = { cluster_password = "top\\"secret" }\n'
        'mysql_users = ( { username="a"; password="top\'secret" } )'
    )
    assert len(found.notes) == 2
    assert found.tables == {}
    assert "secret" not in f"{found.notes}"


def test_empty_sections_are_left_out() -> None:
    assert read("mysql_query_rules = ( )\nscheduler: ( );").tables == {}


PGSQL = """
pgsql_variables = { poll_timeout = 2000 }
pgsql_servers = ( { address = "p"; hostgroup = 1 }, { hostname = "q"; hostgroup_id = 2; port = 1 } )
pgsql_replication_hostgroups = ( { writer_hostgroup = 1; reader_hostgroup = 2 } )
pgsql_users = ( { username = "app"; password = "it's"; default_hostgroup = 1 } )
pgsql_query_rules = ( { rule_id = 1; database = "shop"; destination_hostgroup = 2; apply = 1 } )
"""


def test_sections_of_postgresql() -> None:
    found = read_cnf(PGSQL, "p.cnf", version=Version(3, 0, 4))
    assert found.notes == []
    assert found.variables == {"pgsql-poll_timeout": "2000"}
    assert [one["hostname"] for one in rows_of(found, "pgsql_servers")] == ["p", "q"]
    assert found.tables["pgsql_servers"][1][0][2] == 5432
    assert rows_of(found, "pgsql_users") == [
        {"username": "app", "password": "it's", "default_hostgroup": 1}
    ]
    assert rows_of(found, "pgsql_query_rules") == [
        {"rule_id": 1, "active": 1, "database": "shop", "destination_hostgroup": 2, "apply": 1}
    ]
    pasted = read_cnf(PGSQL, "p.cnf", version=Version(3, 0, 3))
    assert "pgsql_users" not in pasted.tables
    assert [note.partition(":")[2] for note in pasted.notes] == [
        "5: pgsql_users: username app: password: ProxySQL before 3.0.4 loses or changes a row"
        " with a single quote"
    ]


def test_sections_that_an_older_version_lacks() -> None:
    found = read(PGSQL)
    assert (found.tables, found.variables) == ({}, {})
    assert found.notes[0] == (
        "p.cnf:2: pgsql_variables: ProxySQL 2.7.1 has no such section; `--proxysql-version 3.0.0`"
        " or a newer one imports it"
    )
    assert len(found.notes) == 5


@pytest.mark.parametrize(
    ("version", "named"),
    [
        ("2.7.1-0-g2726c27", Version(2, 7, 1)),
        ("3.0.3-0-gb0f85dd", Version(3, 0, 3)),
        ("2.7", None),
    ],
)
def test_a_saved_file_names_its_version(version: str, named: object) -> None:
    assert read_cnf(f'admin_variables = {{ version = "{version}" }}\n', "p.cnf").version == named


def test_a_prefix_in_a_group_is_taken_away_by_newer_versions() -> None:
    text = 'mysql_variables = { mysql-max_connections = 5; init_connect = "say \\"x\\"" }'
    found = read_cnf(text, "p.cnf", version=Version(3, 0, 4))
    assert found.notes == []
    assert found.variables == {"mysql-max_connections": "5", "mysql-init_connect": 'say "x"'}


def test_a_poor_suggestion_is_none() -> None:
    found = read("mysql_variables = { monitor_ssl = true; default_connect_timeout = 5 }")
    assert [note.rpartition(": ")[2] for note in found.notes] == [
        "ProxySQL has no such variable"
    ] * 2
