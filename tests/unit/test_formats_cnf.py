"""Writing a proxysql.cnf: it reads back as the same rows, and what cannot be written is said."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxyctl.catalog import TABLES, Value, Version, layout_of, parse_version
from proxyctl.formats.cnf_reader import CnfContent, read_cnf
from proxyctl.formats.cnf_writer import write_cnf
from proxyctl.state.row import Row
from tests.support.build import layout, row

RULES = "mysql_query_rules"
FAST = "mysql_query_rules_fast_routing"


def read(text: str) -> CnfContent:
    return read_cnf(text, "p.cnf")


def test_a_whole_file() -> None:
    made = write_cnf(
        {
            "mysql_servers": (
                layout("mysql_servers"),
                [
                    row("mysql_servers", hostgroup_id=10, hostname="10.0.0.1", comment="it's"),
                    row("mysql_servers", hostgroup_id=20, hostname="10.0.0.2", weight=5),
                ],
            ),
            "mysql_users": (
                layout("mysql_users"),
                [row("mysql_users", username="app", password='a\\b"c', default_hostgroup=10)],
            ),
            RULES: (
                layout(RULES),
                [
                    row(RULES, rule_id=1, match_digest=r"^SELECT \d+", apply=1, OK_msg=""),
                    row(RULES, rule_id=2, active=0, re_modifiers=None),
                ],
            ),
            "scheduler": (layout("scheduler"), []),
        },
        {
            "mysql-max_connections": "4096",
            "mysql-server_version": "8.0.36",
            "mysql-multiplexing": "true",
            "mysql-long_query_time": "99999999999",
            "admin-version": "2.7.1",
            "admin-telnet_admin_ifaces": "(null)",
            "admin-admin_credentials": "admin:admin",
        },
        header=["written by hand"],
    )
    assert made.notes == ()
    assert made.text == (
        "# written by hand\n"
        "\n"
        "admin_variables=\n"
        "{\n"
        '    admin_credentials="admin:admin"\n'
        "}\n"
        "\n"
        "mysql_variables=\n"
        "{\n"
        "    max_connections=4096\n"
        '    server_version="8.0.36"\n'
        "    multiplexing=true\n"
        '    long_query_time="99999999999"\n'
        "}\n"
        "\n"
        "mysql_servers=\n"
        "(\n"
        '    { hostgroup_id=10 ; hostname="10.0.0.1" ; comment="it\'s" },\n'
        '    { hostgroup_id=20 ; hostname="10.0.0.2" ; weight=5 }\n'
        ")\n"
        "\n"
        "mysql_users=\n"
        "(\n"
        '    { username="app" ; password="a\\\\b\\"c" ; default_hostgroup=10 }\n'
        ")\n"
        "\n"
        "mysql_query_rules=\n"
        "(\n"
        '    { rule_id=1 ; match_digest="^SELECT \\\\d+" ; OK_msg="" ; apply=1 },\n'
        '    { rule_id=2 ; active=0 ; re_modifiers="" }\n'
        ")\n"
    )


def test_what_cannot_be_written_is_reported() -> None:
    family: dict[str, Value] = {
        "backup_writer_hostgroup": 2,
        "reader_hostgroup": 3,
        "offline_hostgroup": 4,
    }
    rows = {
        RULES: [
            row(RULES, rule_id=1, match_digest='a"b'),
            row(RULES, rule_id=2, comment="it's"),
            row(RULES, rule_id=3, timeout=3_000_000_000),
            row(RULES, rule_id=4, destination_hostgroup=-1),
            row(RULES, rule_id=5, attributes='{"a":"it\'s"}'),
        ],
        "mysql_users": [
            row("mysql_users", username="a", password="it's"),
            row("mysql_users", username="b", password="x", frontend=0),
        ],
        "mysql_galera_hostgroups": [
            row("mysql_galera_hostgroups", writer_hostgroup=1, active=0, **family)
        ],
        "mysql_replication_hostgroups": [
            row(
                "mysql_replication_hostgroups",
                writer_hostgroup=1,
                reader_hostgroup=2,
                check_type="read_only|innodb_read_only",
            )
        ],
        "scheduler": [row("scheduler", id=1, interval_ms=100, filename="/x", arg1="it's")],
        FAST: [row(FAST, username="u", schemaname="s")],
        "mysql_firewall_whitelist_users": [],
    }
    made = write_cnf(
        {table: (layout(table), some) for table, some in rows.items()},
        {
            "mysql-init_connect": 'SET x="y"',
            "mysql-monitor_password": 'secret"',
            "sqliteserver-x": "1",
        },
    )
    assert made.notes == (
        "mysql-init_connect: 'SET x=\"y\"' a double quote would lose it",
        "mysql-monitor_password: a double quote would lose it",
        "sqliteserver-x: a .cnf cannot hold this variable",
        "replication hostgroups 1: check_type: ProxySQL would take a combined check for read_only",
        "galera hostgroups 1: active 0: a .cnf cannot hold it",
        "user a: password: a single quote would lose the row",
        "user b: frontend 0: a .cnf cannot hold it",
        "rule 1: match_digest: a double quote would lose the row",
        "rule 2: the comment: a single quote would lose the row",
        "rule 3: timeout: a number beyond 32 bits is ignored",
        "rule 4: destination_hostgroup: a negative number is ignored",
        "rule 5: attributes: a single quote would lose the row",
        "scheduler 1: arg1: a single quote would lose the row",
        "mysql_query_rules_fast_routing: 1 row: a .cnf cannot hold this table",
    )
    assert "secret" not in made.text
    for note in made.notes:
        assert f"# not in this file: {note}\n" in made.text
    assert [one[:2] for one in read(made.text).tables[RULES][1]] == [(2, 1)]


# Texts that a .cnf carries: no quote of the kind that loses the row. Ends of pieces matter, so
# backslashes and escapes are frequent.
CARRIED = st.one_of(
    st.text("\\nxtrfd4 1é\n\t.*^$", max_size=10),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\"'"), max_size=15),
    st.binary(max_size=6).map(
        lambda b: b.translate(None, b"\0\"'").decode("utf-8", "surrogateescape")
    ),
)


@st.composite
def rules(draw: st.DrawFn) -> list[Row]:
    return [
        row(
            RULES,
            rule_id=number,
            active=draw(st.integers(0, 1)),
            username=draw(st.none() | CARRIED),
            match_pattern=draw(CARRIED),
            replace_pattern=draw(st.none() | CARRIED),
            re_modifiers=draw(CARRIED),
            error_msg=draw(st.none() | CARRIED.map(lambda text: text + "'")),
            destination_hostgroup=draw(st.none() | st.integers(0, 2**31 - 1)),
            apply=draw(st.integers(0, 1)),
            comment=draw(st.none() | CARRIED.map(lambda text: text + '"')),
        )
        for number in range(draw(st.integers(1, 4)))
    ]


@example([row("mysql_query_rules", rule_id=1, comment="\U0010ff80\U0010fffd\udc80")], [])
@given(rules(), st.lists(st.tuples(CARRIED, CARRIED), max_size=3, unique_by=lambda pair: pair[0]))
def test_rows_come_back(some: list[Row], accounts: list[tuple[str, str]]) -> None:
    users = [
        row("mysql_users", username=name, password=word + '"', default_schema=word, comment="'")
        for name, word in accounts
    ]
    made = write_cnf(
        {RULES: (layout(RULES), some), "mysql_users": (layout("mysql_users"), users)}, {}
    )
    assert made.notes == ()
    back = read(made.text)
    assert back.tables[RULES][1] == some
    assert back.tables.get("mysql_users", (None, []))[1] == users


def test_sections_of_postgresql_come_back() -> None:
    version = Version(3, 0, 3)
    given: dict[str, dict[str, Value]] = {
        "pgsql_servers": {"hostgroup_id": 1, "hostname": "p", "port": 5433, "comment": "it's"},
        "pgsql_replication_hostgroups": {"writer_hostgroup": 1, "reader_hostgroup": 2},
        "pgsql_users": {"username": "app", "password": 'a"b', "default_hostgroup": 1},
        "pgsql_query_rules": {"rule_id": 1, "active": 0, "database": "shop", "apply": 1},
    }
    tables = {}
    for name, cells in given.items():
        of = layout_of(TABLES[name], version)
        known = dict(zip(of.names, of.defaults, strict=True))
        tables[name] = (of, [tuple((known | cells).values())])
    made = write_cnf(tables, {"pgsql-max_connections": "77"})
    back = read_cnf(made.text, "p.cnf", version=version)
    assert (made.notes, back.notes) == ((), [])
    assert {name: rows for name, (_, rows) in back.tables.items()} == {
        name: rows for name, (_, rows) in tables.items()
    }
    assert back.variables == {"pgsql-max_connections": "77"}


@pytest.mark.parametrize(("version", "is_written"), [("2.7.1", False), ("3.0.3", True)])
def test_hostgroup_attributes_have_a_section_from_3_0_on(version: str, is_written: bool) -> None:
    """Each of these texts was in the .cnf of a ProxySQL 3.0.3."""
    known = parse_version(version)
    table = "mysql_hostgroup_attributes"
    of = layout_of(TABLES[table], known)
    cells = {"hostgroup_id": 84, "init_connect": "a\"b'c", "comment": "q\"r's", "multiplex": 0}
    text = '{"handle_warnings":1}'
    one = row(table, **cells, hostgroup_settings=text, ignore_session_variables='["it\'s"]')
    made = write_cnf({table: (of, [one])}, {})
    found = read_cnf(made.text, "p.cnf", version=known)
    assert (made.notes == ()) is is_written
    assert found.tables == ({table: (of, [one])} if is_written else {})
