"""A real ProxySQL reads proxyctl's files as proxyctl does."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.variables import READ_ONLY, RESTART_ONLY, VARIABLES
from proxyctl.config.files import Sources, load_project
from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.interchange.cnf_writer import write_cnf
from proxyctl.interchange.sql import write_script
from proxyctl.proxysql.cells import as_read
from proxyctl.proxysql.compare import canonical_variable
from proxyctl.rows.row import KEEP, DesiredRow, Row
from tests.support.build import layout, row
from tests.support.commands.cli import proxyctl
from tests.support.servers.instances import ADMIN, Instance, ProxySQL, needed_binary

pytestmark = pytest.mark.real


RULES = "mysql_query_rules"
Tables = dict[str, tuple[Layout, list[Row]]]
AWKWARD = (
    r"^SELECT\s+\d+ .* \\ \1 \x41 \n$",
    "ends in a backslash \\",
    "\\",
    "new\nline\ttab\rreturn\ffeed",
    "größe 東京 🐬",
    "latin \udce9\udc80",
    "50% %s %d {} ${x} # // /* ; , = :",
    "",
    " blanks ",
    "NULL",
    "\x01\x7f",
    "\x1b[31m \x9b31m \u202e \u2066 \u200b \u2028 \ufeff \U000e0041",
)


def awkward_tables(end: str = "") -> Tables:
    """Rows with every kind of text that a .cnf can carry, in every section that it has.

    `end`: the end of every text.
    """
    texts = [(number, text + end) for number, text in enumerate(AWKWARD)]
    quoted = 'it\'s "x"'
    roles = ("writer_hostgroup", "backup_writer_hostgroup", "reader_hostgroup", "offline_hostgroup")
    of_family = {"max_writers": 2, "writer_is_also_reader": 2, "max_transactions_behind": 100}
    off: dict[str, Value] = {"status": "OFFLINE_SOFT", "weight": 0, "use_ssl": 1}
    flag_outs = '{"flagOUTs": [{"id": 1, "weight": 2}]}'
    cells: dict[str, list[dict[str, Value]]] = {
        "mysql_servers": [
            {"hostgroup_id": 10, "hostname": "10.0.0.1", "comment": AWKWARD[0] + "\"'"},
            *(
                {"hostgroup_id": 20 + n, "hostname": f"h{n}'", "port": 3300 + n, **off}
                | {"max_connections": 0, "comment": text}
                for n, text in texts[1:]
            ),
        ],
        "mysql_servers_ssl_params": [{"hostname": "h", "ssl_ca": '/x/"y"\\z', "comment": "it's"}],
        "mysql_replication_hostgroups": [
            {"writer_hostgroup": 1, "reader_hostgroup": 2, "check_type": "super_read_only"}
            | {"comment": quoted}
        ],
        **{
            f"mysql_{kind}_hostgroups": [
                {**dict(zip(roles, range(first, first + 4), strict=True)), **of_family}
                | {"comment": f"{quoted} \\"}
            ]
            for kind, first in (("group_replication", 50), ("galera", 60))
        },
        "mysql_aws_aurora_hostgroups": [
            {"writer_hostgroup": 70, "reader_hostgroup": 71, "domain_name": ".it's"}
            | {"check_timeout_ms": 900, "comment": ""},
            {"writer_hostgroup": 72, "reader_hostgroup": 73, "domain_name": ".x", "comment": "\\"},
        ],
        "mysql_users": [
            {"username": f"u{n}{text}", "password": text + '"', "default_schema": text}
            | {"default_hostgroup": n, "active": n % 2, "attributes": '{"a":"\\\\ b"}'}
            | {"comment": text + "'"}
            for n, text in texts
        ],
        RULES: [
            {"rule_id": n + 1, "active": n % 2, "match_digest": text + "'", "comment": text + '"'}
            | dict.fromkeys(
                ("username", "match_pattern", "replace_pattern", "re_modifiers", "OK_msg"), text
            )
            | {"error_msg": None if n % 2 else text, "destination_hostgroup": n, "apply": 1}
            | {"cache_ttl": 2**31 - 1, "attributes": flag_outs}
            for n, text in texts
        ],
        "scheduler": [
            {"id": n, "active": 0, "interval_ms": 100_000, "filename": "/bin/true"}
            | {"arg1": text, "arg2": None, "arg3": text + '"', "comment": text}
            for n, text in texts
        ],
        "restapi_routes": [
            {"id": 3, "active": 0, "timeout_ms": 1000, "method": "get", "uri": 'u"\\'}
            | {"script": "/s"}
        ],
        "proxysql_servers": [{"hostname": "p'1", "port": 6032, "comment": "it's \\d"}],
    }
    return {
        name: (layout(name), [row(name, **entry) for entry in made]) for name, made in cells.items()
    }


@contextmanager
def started(folder: Path, cnf: str) -> Iterator[Instance]:
    """Start a ProxySQL with this proxysql.cnf, whose marks are replaced by the ports."""
    text = f'datadir="@FOLDER@"\n{cnf}'.replace("{", "{{").replace("}", "}}")
    marks = {"@FOLDER@": "folder", "@ADMIN_PORT@": "port", "@TRAFFIC_PORT@": "traffic_port"}
    for mark, name in marks.items():
        text = text.replace(mark, f"{{{name}}}")
    with ProxySQL(needed_binary(), folder / "proxysql", config=text) as server:
        yield server.instance


def rows_in(instance: Instance, of: Layout, table: str | None = None) -> list[Row]:
    """The rows of a table, numbers as numbers, oldest first."""
    names = ", ".join(of.names)
    found = instance.query(f"SELECT {names} FROM {table or of.name} ORDER BY rowid")
    return [
        tuple(
            int(value) if column.is_numeric and value is not None else value
            for column, value in zip(of.columns, values, strict=True)
        )
        for values in found
    ]


def variables_in(instance: Instance) -> dict[str, str]:
    found = instance.query("SELECT variable_name, variable_value FROM runtime_global_variables")
    return {str(name): str(value) for name, value in found}


VARIABLES_OF_CNF = {
    "admin-admin_credentials": ":".join(ADMIN),
    "admin-mysql_ifaces": "127.0.0.1:@ADMIN_PORT@",
    "mysql-interfaces": "127.0.0.1:@TRAFFIC_PORT@",
    "mysql-monitor_enabled": "false",
    "mysql-threads": "2",
    "mysql-max_connections": "77",
    "mysql-server_version": "8.0.36",
    "mysql-init_connect": "SET x='a\\b'",
    "mysql-monitor_password": "it's \\ \n new",
    "mysql-verbose_query_error": "true",
}


@pytest.mark.since("2.6.0", "no mysql_servers_ssl_params")
def test_a_written_cnf_starts_a_proxysql_with_these_rows(tmp_path: Path) -> None:
    tables, variables = awkward_tables(), VARIABLES_OF_CNF
    text, notes = write_cnf(tables, variables)
    assert notes == []
    back = read_cnf(text, "p.cnf").content
    assert back.variables == variables
    assert [text for text in back.warnings if "`${NAME}`" not in text] == []
    with started(tmp_path, text) as instance:
        for name, (of, rows) in tables.items():
            assert rows_in(instance, of) == rows, name
            assert rows_in(instance, of, f"disk.{name}") == rows, name
            assert back.tables[name] == rows, name
        found = variables_in(instance)
    plain = {name: value for name, value in variables.items() if "@" not in value}
    assert {name: found[name] for name in plain} == plain


MESSY = Path(__file__).parent / "data" / "messy.cnf"


@pytest.mark.since("2.6.0", "no mysql_servers_ssl_params")
def test_a_messy_cnf_is_imported_as_proxysql_reads_it_or_with_a_warning(tmp_path: Path) -> None:
    messy = MESSY.read_text(encoding="utf-8")
    path, written = tmp_path / "p.cnf", tmp_path / "proxyctl.yaml"
    path.write_text(messy.replace("@ADMIN_PORT@", "1").replace("@TRAFFIC_PORT@", "2"))
    with started(tmp_path, messy) as instance:
        version, shown = instance.version, variables_in(instance)
        tables = {name: rows_in(instance, layout(name)) for name in awkward_tables()}
    options = ("--secrets", "clear", "--proxysql-version", str(version))
    outcome = proxyctl("import", str(path), *options, "-o", str(written))
    assert outcome.code == 0, outcome.err
    desired = load_project(Sources((str(written),))).desired.tables
    places = read_cnf(path.read_text(encoding="utf-8"), str(path), version=version).content.places
    for name, rows in tables.items():
        of = layout(name)
        running = {of.key_of(cells): cells for cells in rows}
        ours = desired[name].rows if name in desired else {}
        for key in running.keys() | ours.keys():
            if not alike(of, running.get(key), ours.get(key)):
                assert f"warning: {places[name, key]}: " in outcome.err, (name, key)
    for name, known in VARIABLES.items():
        if name in READ_ONLY or known.default is None or shown.get(name) in (None, "(null)"):
            continue
        table = desired.get(f"{name.partition('-')[0]}_variables")
        row = table.rows.get((name,)) if table else None
        if name not in RESTART_ONLY and not name.endswith(("interfaces", "_ifaces")):
            assert shown[name] == canonical_variable(name, row[1] if row else known.default), name
    assert outcome.err.count("warning: ") > 60


def alike(of: Layout, running: Row | None, ours: DesiredRow | None) -> bool:
    """Whether two rows are one configuration, as a plan compares them."""
    if running is None or ours is None:
        return False
    return all(
        wanted is KEEP
        or as_read(of.table, column, cell) == as_read(of.table, column, wanted)
        or str(cell).lower() == str(wanted).lower()
        for column, cell, wanted in zip(of.columns, running, ours, strict=True)
    )


# SQL ----------------------------------------------------------------------------------------------


def statements_of(script: str) -> list[str]:
    """No text of these tests holds a semicolon at the end of a line."""
    return [part for part in script.split(";\n") if part]


def by_statement(instance: Instance, script: str) -> None:
    for statement in statements_of(script):
        instance.execute(statement)


def by_client(instance: Instance, script: str) -> None:
    """Pipe the script into the command line client."""
    client = shutil.which("mariadb") or shutil.which("mysql")
    if client is None:
        pytest.skip("no mariadb or mysql client on PATH")
    subprocess.run(
        [client, f"-h{instance.host}", f"-P{instance.port}", "-uadmin", "-padmin", "--skip-ssl"],
        input=script.encode("utf-8", "surrogateescape"),
        check=True,
    )


@pytest.mark.since("2.6.0", "no hostgroup_settings")
@pytest.mark.parametrize("run", [by_statement, by_client])
def test_a_script_gives_these_rows(
    real_proxysql: Instance, run: Callable[[Instance, str], None]
) -> None:
    tables = awkward_tables("'\"")  # SQL carries quotes of both kinds, a .cnf does not
    route: dict[str, Value] = {"username": "it's", "schemaname": "a\\", "destination_hostgroup": 5}
    more: dict[str, dict[str, Value]] = {
        "mysql_hostgroup_attributes": {"hostgroup_id": 1, "init_connect": 'it\'s "x" \\'},
        "mysql_query_rules_fast_routing": route,
        "mysql_firewall_whitelist_users": {"username": "u", "client_address": "", "mode": "OFF"},
    }
    for name, values in more.items():
        tables[name] = (layout(name), [row(name, **values)])
    variables = {
        "mysql-threads": "3",
        "mysql-max_connections": "77",
        "mysql-init_connect": "SET x='a\\b' -- \"y\"\nnext\\",
        "admin-cluster_username": "it's",
    }
    run(real_proxysql, write_script(tables, variables, header=["a comment"]))
    for name, (of, rows) in tables.items():
        assert rows_in(real_proxysql, of) == rows, name
        assert rows_in(real_proxysql, of, f"disk.{name}") == rows, name
    active = [rule for rule in tables[RULES][1] if rule[1] == 1]
    assert len(real_proxysql.query(f"SELECT rule_id FROM runtime_{RULES}")) == len(active)
    running = variables_in(real_proxysql)
    stored = {
        str(name): str(value)
        for name, value in real_proxysql.query("SELECT * FROM disk.global_variables")
    }
    for name, value in variables.items():
        assert stored[name] == value
        assert name == "mysql-threads" or running[name] == value


FILES = """
mysql_servers:
  - {hostgroup_id: 1, hostname: a, weight: 9}
  - {hostgroup_id: 1, hostname: new}
mysql_users:
  - {username: app, default_hostgroup: 5}
  - {username: app3, default_hostgroup: 5}
mysql_query_rules:
  - {rule_id: 20, match_digest: "a\\rb", destination_hostgroup: 2, apply: true}
manage:
  mysql_query_rules: {rule_id: "10-30"}
  mysql_users: {username: "app*"}
  ignore: {mysql_servers: [weight]}
"""


@pytest.mark.parametrize("run", [by_statement, by_client])
def test_a_rendered_script_does_no_more_than_the_files_say(
    real_proxysql: Instance, run: Callable[[Instance, str], None], tmp_path: Path
) -> None:
    for statement in (
        "INSERT INTO mysql_servers(hostgroup_id,hostname,status,weight)"
        " VALUES (1,'a','OFFLINE_SOFT',3),(1,'gone','ONLINE',1)",
        "INSERT INTO mysql_users(username,password) VALUES ('app','pw'),('app2','pw'),('me','pw')",
        "INSERT INTO mysql_query_rules(rule_id,active) VALUES (9,0),(10,0),(20,0),(31,0)",
    ):
        real_proxysql.execute(statement)
    file = tmp_path / "proxyctl.yaml"
    file.write_text(FILES)
    script = proxyctl("render", "-f", str(file), "--format", "sql")
    assert script.code == 0, script.err
    body = script.out[script.out.index("DELETE ") :]
    run(real_proxysql, body if run is by_statement else script.out)
    for layer in ("main", "disk"):
        assert real_proxysql.query(
            f"SELECT hostname, status, weight FROM {layer}.mysql_servers ORDER BY hostname"
        ) == [("a", "OFFLINE_SOFT", "3"), ("new", "ONLINE", "1")]
        assert real_proxysql.query(
            f"SELECT username, password, default_hostgroup FROM {layer}.mysql_users ORDER BY 1"
        ) == [("app", "pw", "5"), ("me", "pw", "0")]
        assert real_proxysql.query(
            f"SELECT rule_id, match_digest FROM {layer}.mysql_query_rules ORDER BY 1"
        ) == [("9", None), ("20", "a\rb"), ("31", None)]
    assert real_proxysql.query("SELECT hostname, status FROM runtime_mysql_servers ORDER BY 1") == [
        ("a", "OFFLINE_SOFT"),
        ("new", "ONLINE"),
    ]
