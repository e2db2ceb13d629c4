"""`schema --key` says what a section, a key of it or a variable does."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import VARIABLES
from proxyctl.config.context import SPECIAL
from proxyctl.config.key_lookup import explain_key, known_keys
from proxyctl.render.keys import key_text
from tests.support.commands.cli import proxyctl

MANUAL = "https://proxysql.com/documentation"


def test_a_column() -> None:
    assert proxyctl("schema", "--key", "mysql_servers.max_replication_lag").out == (
        "mysql_servers.max_replication_lag\n"
        "\n"
        "Shuns the server while its replication lag is above this many seconds; 0 checks\n"
        "nothing.\n"
        "\n"
        "an integer from 0 to 126144000; default `0`\n"
        "\n"
        f"{MANUAL}/main-runtime/mysql-tables/#mysql_servers\n"
    )


def test_a_variable() -> None:
    assert proxyctl("schema", "--key", "pgsql-max_connections").out == (
        "pgsql-max_connections\n"
        "\n"
        "Maximum number of simultaneous client connections; further clients are refused.\n"
        "\n"
        "an integer from 1 to 1000000; default `10000`; since 3.0.0-alpha\n"
        "\n"
        f"{MANUAL}/global-variables/pgsql-variables/\n"
    )


def test_a_table_with_its_columns() -> None:
    out = proxyctl("schema", "--key", "mysql_replication_hostgroups").out
    assert "admin module MYSQL SERVERS; key `writer_hostgroup`" in out
    for column in ("writer_hostgroup", "reader_hostgroup", "check_type", "comment"):
        assert f"\n{column} " in out


@pytest.mark.parametrize(
    ("name", "fact"),
    [
        ("mysql_servers.hostname", "required"),
        ("mysql_servers.hostgroup_id", "or a name from `hostgroups`"),
        ("mysql_users.attributes", "a mapping, a list or text"),
        ("mysql_users.active", "default `1`"),
        ("mysql_users.comment", "default `''`"),
        ("mysql_servers_ssl_params", "since 2.6.0"),
        ("mysql-threads", "takes effect at a restart"),
        ("admin-version", "read only"),
        ("mysql-monitor_password", "secret"),
        ("guards.lint", "one of `refuse`, `warn`, `off`; default `warn`"),
        ("instances.port", "an integer from 1 to 65535; default `6032`"),
        ("pxc_clusters.name", "required"),
        ("pxc_clusters.nodes.hostname", "required"),
        ("routing_tests.expect.matched_rules", "a list of integers"),
        ("lint.ignore", "a list, each text or a mapping"),
        ("policies.for", "required"),
        ("mysql-default_tx_isolation", "until 2.5.5"),
    ],
)
def test_the_facts_of_a_key(name: str, fact: str) -> None:
    key = explain_key(name)
    assert key is not None
    assert fact in "; ".join(key.facts)


def test_another_section_with_its_keys() -> None:
    out = proxyctl("schema", "--key", "guards").out
    assert out.startswith("guards\n\nWhat an apply refuses to do without --force.\n\nmax_deletes ")
    assert "\nmax_deletes.percent     The largest share" in out
    assert "only part of" in out
    assert "](" not in out


def test_a_section_without_keys() -> None:
    assert proxyctl("schema", "--key", "version").out == "version\n\nVersion of the file format.\n"


def test_what_a_node_needs_is_no_default_of_all_nodes() -> None:
    key = explain_key("pxc_clusters.node_defaults.hostname")
    assert key is not None
    assert key.facts == ("text",)


def test_every_key_is_found_and_fits_the_terminal() -> None:
    names = list(known_keys())
    assert {*VARIABLES, *SPECIAL, "mysql_users", "mysql_users.username", "lint.ignore.code"} <= set(
        names
    )
    for name in names:
        key = explain_key(name)
        assert key is not None, name
        assert key.name == name
        lines = [line for line in key_text(key).splitlines() if len(line.split()) > 1]
        assert all(len(line) <= 80 for line in lines), name


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("mysql_servers.max_replication_lg", "did you mean mysql_servers.max_replication_lag?"),
        ("mysql_server", "did you mean mysql_servers?"),
        ("guards.polices", "did you mean guards.policies?"),
        ("mysql-max_conections", "did you mean mysql-max_connections?"),
        ("mysql-max_query_time", "did you mean mysql-default_query_timeout?"),
        ("mysql_users.defalut_schema", "did you mean mysql_users.default_schema?"),
        ("weight", "name it in full: mysql_servers.weight, pgsql_servers.weight, proxysql_ser"),
        ("threads", "name it in full: mysql-threads, pgsql-threads\n"),
        ("comment", "mysql_aws_aurora_hostgroups.comment, ...\n"),
        ("no such key", "name a section, a key of it such as mysql_servers.weight"),
    ],
)
def test_an_unknown_key(name: str, fix: str) -> None:
    found = proxyctl("schema", "--key", name)
    assert found.code == 64
    assert f"--key {name}: no such section, key or variable" in found.err
    assert fix in found.err


def test_a_table_of_variables_is_no_key() -> None:
    for name, table in TABLES.items():
        assert (explain_key(name) is None) == bool(table.prefix)


def test_it_goes_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "key.txt"
    assert proxyctl("schema", "--key", "mysql_users", "-o", str(path)).out == ""
    assert path.read_text().startswith("mysql_users\n")
