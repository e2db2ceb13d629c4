"""A server that answers as ProxySQL does, but for one statement: an error that says so."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from proxyctl.admin.backend import monitor_account
from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_membership
from proxyctl.admin.drains import read_drains
from proxyctl.admin.lock import read_holder
from proxyctl.admin.login import Login
from proxyctl.admin.nodes import read_nodes
from proxyctl.admin.read import read_layouts
from proxyctl.admin.rule_hits import read_rule_hits
from proxyctl.admin.runtime_facts import read_facts, used_hostgroups
from proxyctl.admin.whole_answer import END
from proxyctl.config.load import ParsedFiles, Sources
from proxyctl.errors import InstanceError
from proxyctl.state import Row
from tests.support.answering_server import AnsweringServer, Cell, result
from tests.support.build import layout, row
from tests.support.recorded_answers import RecordedAnswers

MEMBER = (
    "INSERT INTO proxysql_servers (hostname) VALUES ('px1')",
    "LOAD PROXYSQL SERVERS TO RUNTIME",
)
LATE = b"99999999999999"
"""Seconds until after the last year of a calendar."""
SERVERS = layout("mysql_servers")


@pytest.fixture(scope="module")
def truth() -> Iterator[RecordedAnswers]:
    with RecordedAnswers(MEMBER) as recorded:
        yield recorded


@pytest.fixture
def server(truth: RecordedAnswers) -> Iterator[AnsweringServer]:
    # Not the folder of pytest: the path of a Unix socket has to be short.
    with (
        tempfile.TemporaryDirectory() as folder,
        AnsweringServer(Path(folder), truth.answer) as served,
    ):
        yield served


@pytest.fixture
def files(tmp_path: Path) -> ParsedFiles:
    path = tmp_path / "proxyctl.yaml"
    path.write_text("mysql_servers: [{hostgroup_id: 1, hostname: a}]\n")
    return ParsedFiles(Sources((str(path),)))


def lie(server: AnsweringServer, lies: dict[str, Sequence[Sequence[Cell]]]) -> AdminClient:
    """Answer statements that have one of these texts in them with other rows, and connect."""
    truth = server.answer
    assert truth is not None

    def answer(sql: bytes) -> bytes:
        for text, rows in lies.items():
            if text.encode() in sql:
                ended = [[END.encode()] * sql.count(END.encode())] if END.encode() in sql else []
                said = [*rows, *ended]
                return result([b"a"] * max(1, *map(len, said or [[]])), said)
        return truth(sql)

    server.answer = answer
    return AdminClient(Login(socket=server.path, connect_timeout_s=60))


CHECKSUMS = "FROM runtime_checksums_values"
POOL = "ConnUsed, ConnFree, ConnERR"
IN_TEMP = "FROM sqlite_temp_master"
DRAINS = "FROM proxyctl_drains"
PINGS = "ping_error AS error"


@pytest.mark.parametrize(
    ("read", "lies"),
    [
        (lambda c: used_hostgroups(c, read_layouts(c)), {"SELECT DISTINCT": [[b"x", b"1"]]}),
        (read_facts, {"FROM main.proxysql_servers WHERE": [[b"x"]]}),
        (read_nodes, {POOL: [[b"x"] * 8]}),
        (read_nodes, {POOL: [[b"1"]]}),
        (read_nodes, {"pragma_table_info('mysql_server_galera_log'": [[b"x"]]}),
        (read_nodes, {"pragma_table_info('mysql_server_galera_log'": [[b"x", b"y"]]}),
        (read_nodes, {PINGS: [[b"a", b"x", b"1", None, b"1"]]}),
        (read_nodes, {PINGS: [[b"a", b"1", b"x", None, b"1"]]}),
        (read_nodes, {PINGS: [[b"a", b"1", LATE + b"000000", None, b"1"]]}),
        (read_nodes, {PINGS: [[b"a", b"1"]]}),
        (read_nodes, {"repl_lag, error": [[b"a", b"1", b"1", b"x", None, b"1"]]}),
        (read_membership, {CHECKSUMS: [[b"mysql_users", b"2", LATE, b"0x1"]]}),
        (read_membership, {"updated_at": [[b"px1", b"6032", b"a", b"2", LATE, b"0x1", b"1"]]}),
        (read_rule_hits, {CHECKSUMS: [[b"2", LATE]]}),
        (monitor_account, {"'mysql-monitor_password'": [[b"mysql-monitor_password"]]}),
    ],
)
def test_it_is_an_error_that_says_so(
    server: AnsweringServer,
    read: Callable[[AdminClient], object],
    lies: dict[str, list[list[Cell]]],
) -> None:
    with lie(server, lies) as client, pytest.raises(InstanceError, match="as no ProxySQL does"):
        read(client)


# -- tables of ours that others can write to, too --------------------------------------------------


def a_drain(since: bytes = b"1", memory: bytes = b"[]", method: bytes = b"proxysql") -> list[Cell]:
    return [b"db1", b"3306", since, b"anna", b"", b"1", memory, method]


def test_a_drain_at_no_time_is_an_error(server: AnsweringServer) -> None:
    with (
        lie(server, {IN_TEMP: [[b"1"]], DRAINS: [a_drain(since=LATE)]}) as client,
        pytest.raises(InstanceError, match="instead of a time"),
    ):
        read_drains(client, SERVERS)


def test_a_drain_that_only_a_newer_proxyctl_knows_is_an_error(server: AnsweringServer) -> None:
    with (
        lie(server, {IN_TEMP: [[b"1"]], DRAINS: [a_drain(method=b"by_magic")]}) as client,
        pytest.raises(InstanceError, match="db1:3306 is drained by 'by_magic'"),
    ):
        read_drains(client, SERVERS)


@pytest.mark.parametrize(
    "memory", [b"", b"[" * 9999, b"{}", b"[[]]", b"[7]", b"[[" + b"[]," * 11 + b"[]]]", b"1e999"]
)
def test_rows_beside_a_drain_that_are_none_are_none(server: AnsweringServer, memory: bytes) -> None:
    with lie(server, {IN_TEMP: [[b"1"]], DRAINS: [a_drain(memory=memory)]}) as client:
        (found,) = read_drains(client, SERVERS).values()
    assert found.memory == {}


def test_rows_beside_a_drain(server: AnsweringServer) -> None:
    held: Row = row("mysql_servers", hostgroup_id=1, hostname="db1")
    text = b"[" + str(list(held)).replace("'", '"').replace("None", "null").encode() + b"]"
    with lie(server, {IN_TEMP: [[b"1"]], DRAINS: [a_drain(memory=text)]}) as client:
        (found,) = read_drains(client, SERVERS).values()
    assert list(found.memory.values()) == [held]


def test_a_lock_whose_modules_nest_too_deep_is_still_a_lock(server: AnsweringServer) -> None:
    cells: list[Cell] = [b"x", b"h", b"1", b"apply", b"", b"[" * 9999, b"1", b"1"]
    with lie(server, {IN_TEMP: [[b"1"]], "FROM proxyctl_lock": [cells]}) as client:
        holder = read_holder(client)
    assert holder is not None
    assert holder.modules == {}
