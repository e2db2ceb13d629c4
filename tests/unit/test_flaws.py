"""Host names, programs, routes and interfaces that never work, and their like that do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from proxyctl.catalog.variable_rules import INTERFACES, complaint, interfaces_complaint
from proxyctl.proxysql.flaws import doubts, flaws

DEAD_HOSTS = [
    *("", " ", "db 1", "db1 ", "\tdb1", "db1\n", "db1:3306", "db1:", ":3306", "mysql://db1"),
    *("tcp://10.0.0.5:3306", "https://db1.example.com/", "user@db1", "db1/shop", "db1:3306/shop"),
    *("[::1]", "[2001:db8::1]:3306", "[10.0.0.5]", "10.0.0.256", "10.0.0.5.6", "10..0.5"),
    *("10.0.0.0/8", "db%", "db*", "${DB_HOST}", "{{ host }}", "'db1'", "::1::2", "db1;db2"),
]
HOSTS = [
    *("db1", "DB1", "db_1", "db-1.example.com", "db1.example.com.", "localhost", "10.0.0.5"),
    *("127.1", "2130706433", "0x7f.1", "2001:db8::1", "::1", "::ffff:10.0.0.5", "fe80::1%eth0"),
    *("1db.example.com", "xn--bcher-kva.example", "b\u00fccher.example", "db1,db2", "_x._tcp.db"),
]


def columns_of(found):
    return [flaw.column for flaw in found]


@pytest.mark.parametrize("table", ["mysql_servers", "pgsql_servers", "proxysql_servers"])
@pytest.mark.parametrize("name", DEAD_HOSTS)
def test_a_host_name_that_no_resolver_takes(table, name):
    assert columns_of(flaws(table, {"hostname": name, "port": 3306})) == ["hostname"]


@pytest.mark.parametrize("table", ["mysql_servers", "pgsql_servers", "proxysql_servers"])
@pytest.mark.parametrize("name", HOSTS)
def test_a_host_name_or_an_address(table, name):
    cells = {"hostname": name, "port": 3306}
    assert list(flaws(table, cells)) == []
    assert bool(list(doubts(table, cells))) is ("," in name)


@dataclass(frozen=True)
class SocketCase:
    """A host name and a port in a table, and whether that can never work."""

    table: str
    name: str
    port: int
    is_flawed: bool


@pytest.mark.parametrize(
    "case",
    [
        SocketCase(table="mysql_servers", name="/run/mysqld.sock", port=0, is_flawed=False),
        SocketCase(table="mysql_servers", name="/run/mysqld.sock", port=3306, is_flawed=True),
        SocketCase(
            table="mysql_servers_ssl_params", name="/run/mysqld.sock", port=3306, is_flawed=True
        ),
        SocketCase(table="pgsql_servers", name="/run/postgresql", port=5432, is_flawed=False),
        SocketCase(table="pgsql_servers", name="@postgresql", port=5432, is_flawed=False),
        SocketCase(table="pgsql_servers", name="/run/postgresql", port=0, is_flawed=True),
        SocketCase(table="pgsql_servers", name="db1", port=0, is_flawed=True),
        SocketCase(table="proxysql_servers", name="/run/proxysql.sock", port=0, is_flawed=True),
    ],
    ids=lambda case: f"{case.table}-{case.name}-{case.port}",
)
def test_a_unix_socket(case):
    found = flaws(case.table, {"hostname": case.name, "port": case.port})
    assert bool(list(found)) is case.is_flawed


@pytest.mark.parametrize("name", ["db1", "10.0.0.5", "mysqld.sock"])
def test_port_0_and_no_absolute_path_is_doubtful(name):
    cells = {"hostname": name, "port": 0}
    assert list(flaws("mysql_servers", cells)) == []
    assert columns_of(doubts("mysql_servers", cells)) == ["port"]


DEAD_PROGRAMS = [
    "",
    "/opt/a --x=1",
    "/opt/a -x",
    "/usr/bin/php /opt/a.php",
    "/opt/a | b",
    "/opt/a ",
]
DOUBTFUL_PROGRAMS = ["a.sh", "./a.sh", "bin/a.sh", "~/a.sh", "/opt/a daily", "$HOME/a.sh"]


@pytest.mark.parametrize(
    ("table", "column"), [("scheduler", "filename"), ("restapi_routes", "script")]
)
def test_a_program(table, column):
    for path in ("/opt/a.sh", "/opt/my-scripts/a", *DEAD_PROGRAMS, *DOUBTFUL_PROGRAMS):
        cells = {"uri": "a", "method": "GET", column: path}
        assert bool(list(flaws(table, cells))) is (path in DEAD_PROGRAMS), path
        if path not in DEAD_PROGRAMS:
            assert bool(list(doubts(table, cells))) is (path in DOUBTFUL_PROGRAMS), path


@pytest.mark.parametrize(
    ("uri", "method", "expected"),
    [
        ("report", "GET", []),
        ("report.v1", "POST", []),
        ("a b", "GET", []),
        ("", "GET", []),
        ("/report", "GET", ["uri"]),
        ("sync/report", "GET", ["uri"]),
        ("a/b", "GET", ["uri"]),
        ("o'hara", "GET", ["uri"]),
        ("report", "get", ["method"]),
    ],
)
def test_a_route(uri, method, expected):
    cells = {"script": "/opt/a.sh", "uri": uri, "method": method}
    assert columns_of(flaws("restapi_routes", cells)) == expected


GOOD_INTERFACES = [
    *(
        "",
        "0.0.0.0:6033",
        "0.0.0.0:6033;",
        "127.0.0.1:6033;/run/x.sock",
        "[::]:6033",
        "localhost:1",
    ),
    *("/run/x y.sock", "/run/x.sock:0", "x.sock", "*:6033", "a:1 ;b:2", "a: 1"),
]
BAD_INTERFACES = [
    *("0.0.0.0:6033,/run/x.sock", "a:1,b:2", "a:1; b:2", " a:1", "0.0.0.0", "6033", ":6033", "*"),
    *(
        "localhost",
        "::1:6033",
        "[::1]",
        "[::1]6033",
        "tcp://a:1",
        "a:0",
        "a:70000",
        "/run/x.sock:5",
    ),
]


@pytest.mark.parametrize("text", [*GOOD_INTERFACES, *BAD_INTERFACES])
def test_interfaces(text):
    assert bool(interfaces_complaint(text)) is (text in BAD_INTERFACES)
    if text:
        assert {bool(complaint(name, text)) for name in INTERFACES} == {text in BAD_INTERFACES}
