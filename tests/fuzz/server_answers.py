"""What an admin interface answers: packets of any bytes, and well-formed answers of any content."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from proxyctl.admin.backend import monitor_account
from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_membership
from proxyctl.admin.configuration import read_configuration
from proxyctl.admin.digest_size import read_digest_size
from proxyctl.admin.digest_top import read_top
from proxyctl.admin.digests import read_digests, streamed_digests
from proxyctl.admin.export import export_layer
from proxyctl.admin.live import Looker
from proxyctl.admin.lock import read_holder
from proxyctl.admin.login import Login
from proxyctl.admin.nodes import read_nodes
from proxyctl.admin.rule_hits import read_rule_hits
from proxyctl.config.load import ParsedFiles, Sources
from proxyctl.digests.top import TopOptions
from proxyctl.doctor.examine import examine
from proxyctl.doctor.facts import read_facts
from proxyctl.errors import InstanceError, StatementError
from proxyctl.live.notes import notes_of
from proxyctl.live.view import Meter
from proxyctl.render.doctor import doctor_json, doctor_text
from proxyctl.render.drift_machine import drift_json
from proxyctl.render.drift_text import drift_text
from proxyctl.render.live_header import fitting, instance_parts, load_parts, size_parts
from proxyctl.render.live_table import Arrangement, LiveTable, arranged
from proxyctl.render.live_tables import DIGESTS, RULES, SERVERS
from proxyctl.render.nodes_machine import nodes_json
from proxyctl.render.nodes_text import nodes_text
from proxyctl.state import Layer
from proxyctl.workflow import plan_files
from tests.fuzz.lies import lies_in, twisted
from tests.fuzz.target import Run, Target
from tests.journeys.held_lock import LOCK
from tests.support.answering_server import (
    GREETING,
    OK,
    Answer,
    AnsweringServer,
    error,
    packets,
    result,
)
from tests.support.recorded_answers import RecordedAnswers

_HELLO = (result([b"@@version"], [[b"2.7.1"]]), result([b"DATABASE()"], [[b"admin"]]))


def _login(server: AnsweringServer) -> Login:
    return Login(socket=server.path, password="secret", connect_timeout_s=60, read_timeout_s=60)


# -- packets ---------------------------------------------------------------------------------------


@contextmanager
def _packets(folder: Path) -> Iterator[Run]:
    """Return what connects to a server that sends these bytes, and asks it a few things."""
    with AnsweringServer(folder) as server:

        def run(data: bytes) -> None:
            server.greeting = data
            with AdminClient(_login(server)) as client:
                client.query("SELECT 1")
                with client.stream("SELECT 2") as rows:
                    list(rows)
                with suppress(StatementError):
                    client.raw("SELECT 3")
                client.raw("SELECT 4")

        yield run


def _packet_seeds() -> Sequence[bytes]:
    login = GREETING + packets([OK], first=2)
    rows = result([b"a", b"b"], [[b"1", None], [b"x" * 300, "é".encode()]])
    switch = packets([b"\xfemysql_native_password\0" + b"1" * 20 + b"\0"], first=2)
    plugins = (b"caching_sha2_password", b"sha256_password", b"mysql_clear_password", b"dialog")
    return [
        login + b"".join(_HELLO) + rows * 4,
        login + b"".join(_HELLO) + rows * 2 + error(1045, b"near 'secret'") + packets([OK]),
        GREETING + switch + packets([OK], first=4) + b"".join(_HELLO) + rows,
        GREETING + packets([b"\xff\x15\x04#28000ProxySQL Error: Access denied"], first=2),
        *(
            GREETING + packets([b"\xfe" + name + b"\0" + b"1" * 20 + b"\0"], first=2)
            for name in plugins
        ),
        GREETING
        + packets([b"\xfecaching_sha2_password\0" + b"1" * 20 + b"\0", b"\x01\x03"], first=2),
        login + b"".join(_HELLO) + packets([b"\xfb/etc/passwd"]),
        b"\x17\0\0\0\xffj\x04Host is not allowed to",
    ]


def _packet_words() -> Sequence[bytes]:
    return (
        *(
            b"\xfb",
            b"\xfc",
            b"\xfd",
            b"\xfe",
            b"\xff",
            b"\0\0\0",
            b"\xff\xff\xff",
            b"\xfe\0\0\x02\0",
        ),
        *(b"caching_sha2_password\0", b"mysql_clear_password\0", b"sha256_password\0", b"dialog\0"),
        *(
            b"mysql_native_password\0",
            b"client_ed25519\0",
            b"mysql_old_password\0",
            b"8.0.36",
            b"\x01",
        ),
        *(framed for framed in (packets([OK]), packets([OK], first=2), packets([b"\xfe\0\0\0\0"]))),
    )


def _sequences() -> st.SearchStrategy[bytes]:
    """Return well-framed packets of any content behind a login."""
    seeds = _packet_seeds()
    part = st.binary(max_size=12) | st.sampled_from(
        (OK, b"\xfe\0\0\x02\0", b"\x01", b"\xfb/etc/passwd")
    )
    answers = st.lists(part, min_size=1, max_size=5).map(packets) | st.sampled_from(_HELLO)
    return st.builds(
        lambda start, rest: seeds[0][:start] + b"".join(rest),
        st.sampled_from(
            (0, _after_greeting(), _after_login(), _after_login() + len(b"".join(_HELLO)))
        ),
        st.lists(answers, max_size=4),
    )


def _after_greeting() -> int:
    return len(GREETING)


def _after_login() -> int:
    return _after_greeting() + len(packets([OK], first=2))


# -- answers ---------------------------------------------------------------------------------------

_FILE = """
mysql_servers:
  - {hostgroup_id: 1, hostname: a}
  - {hostgroup_id: 1, hostname: new}
mysql_users:
  - {username: app, password: secret, default_hostgroup: 1}
mysql_query_rules:
  - {rule_id: 1, match_digest: ^SELECT, destination_hostgroup: 2, apply: true}
variables: {mysql-max_connections: 100}
"""
_ROWS = (
    "INSERT INTO mysql_servers(hostgroup_id, hostname) VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO mysql_users(username, password, default_hostgroup) VALUES ('app', 'x', 1)",
    "INSERT INTO mysql_query_rules(rule_id, active, match_pattern) VALUES (1, 1, 'x')",
    "INSERT INTO mysql_galera_hostgroups VALUES (10, 11, 12, 13, 1, 1, 0, 0, 'x')",
    "INSERT INTO proxysql_servers(hostname) VALUES ('px1')",
    "LOAD PROXYSQL SERVERS TO RUNTIME",
    "CREATE TEMP TABLE proxyctl_drains(hostname, port INT, since INT, who, purpose, is_done INT,"
    " memory, method, PRIMARY KEY(hostname, port))",
    "INSERT INTO proxyctl_drains VALUES ('a', 3306, 1, 'ann', 'x', 1, '[]', 'proxysql')",
    LOCK,
    "INSERT INTO proxyctl_lock VALUES (1, 'ann@1', 'ops', 1, 'apply', 'LOAD', '[]', 1)",
    "LOAD MYSQL SERVERS TO RUNTIME",
    "LOAD MYSQL USERS TO RUNTIME",
    "LOAD MYSQL QUERY RULES TO RUNTIME",
)
"""What the instance holds beside its defaults: a bit of everything, different from the file."""

_DIGEST = (1, "shop", "app", "", "0xAB", "SELECT ?", 5, 1, 2_000_000_000, 500, 90, 110, 0, 5)


def _drain(client: AdminClient) -> None:
    with streamed_digests(client) as snapshot:
        list(snapshot.rows)


def _plan(client: AdminClient, files: ParsedFiles) -> None:
    plan = plan_files(client, files)
    _ = plan.fingerprint


def _watch(client: AdminClient) -> None:
    """Look three times as `top` does, which shows an InstanceError and looks again."""
    looker, meter = Looker(client), Meter("px1", client.address)
    for _ in range(3):
        try:
            view = meter.advance(looker.look(0.0), client.version_text)
        except InstanceError:
            client.connect()
            continue
        list(notes_of(view))
        for parts in (instance_parts(view), load_parts(view), size_parts(view)):
            fitting(parts, 80)
        for shown in (SERVERS, DIGESTS, RULES):
            table = cast(LiveTable[Any], shown)
            for column in table.columns:
                arranged(table, table.lines(view), Arrangement(column.title, filter="1"))


def _doctor(client: AdminClient) -> None:
    found = examine(read_facts(client, asks=False, memory=True))
    doctor_text(found)
    doctor_json(found)


def _drift(client: AdminClient, files: ParsedFiles) -> None:
    found = plan_files(client, files)
    drift_text(found)
    drift_json(found)


def _nodes(client: AdminClient) -> None:
    report = read_nodes(client)
    nodes_text(report)
    nodes_json(report)


_Action = Callable[[AdminClient, ParsedFiles], object]
_ACTIONS: tuple[_Action, ...] = (
    _plan,
    lambda client, _files: export_layer(client, Layer.RUNTIME, "hash"),
    lambda client, _files: read_configuration(client, Layer.MEMORY, ["mysql_query_rules"]),
    lambda client, _files: list(read_digests(client).rows),
    lambda client, _files: _drain(client),
    lambda client, _files: read_top(client, TopOptions()),
    lambda client, _files: read_rule_hits(client),
    lambda client, _files: read_holder(client),
    lambda client, _files: read_digest_size(client),
    lambda client, _files: _watch(client),
    lambda client, _files: _doctor(client),
    lambda client, files: _drift(client, files),
    lambda client, _files: _nodes(client),
    lambda client, _files: read_membership(client),
    lambda client, _files: monitor_account(client),
)


@contextmanager
def _answers(folder: Path) -> Iterator[Run]:
    """Return what runs one of the readers against a server that does not tell the truth.

    The first byte of an input chooses the reader; then come the lies.
    """
    path = folder / "proxyctl.yaml"
    path.write_text(_FILE)
    files = ParsedFiles(Sources((str(path),)))
    with AnsweringServer(folder) as server, RecordedAnswers(_ROWS) as truth:
        truth.sandbox.stats["stats_mysql_query_digest"] = [_DIGEST]

        def run(data: bytes) -> None:
            action = _ACTIONS[(data[0] if data else 0) % len(_ACTIONS)]
            lies = dict(lies_in(data[1:]))
            count = -1

            def answer(sql: bytes) -> Answer:
                nonlocal count
                count += 1
                if count not in lies or isinstance(told := truth.told(sql), bytes):
                    return truth.answer(sql)
                return twisted(lies[count], *told)

            server.answer = answer
            with AdminClient(_login(server)) as client:
                action(client, files)

        yield run


def _answer_seeds() -> Sequence[bytes]:
    said = (b"", b"x", b"-1", b"[1,2]", b"1e5", b"[[1]]", b"9" * 30, b"null", b"\xff")
    return [
        bytes([action, statement, kind, (action + kind) * 7 % 256])
        + said[(action + statement + kind) % len(said)]
        for action in range(len(_ACTIONS))
        for statement in range(0, 14, 3)
        for kind in range(0, 30, 2)
    ]


def _answer_words() -> Sequence[bytes]:
    return (
        *(
            b"[",
            b"]",
            b'[[1,"a"]]',
            b"[null]",
            b"{}",
            b"1",
            b"-1",
            b"true",
            b"''",
            b"2.7",
            b"3.0.0",
        ),
        *(b"\x1f", b"admin", b"stats", b"INTEGER", b"(1+1)", b"CURRENT_TIMESTAMP", b"1.5", b'"a"'),
        *(
            b"no such function",
            b"mysql_users",
            b"hostname",
            b"VARCHAR",
            b"0x10",
            b"9223372036854775808",
        ),
    )


def _structured_lies() -> st.SearchStrategy[bytes]:
    lie = st.builds(
        lambda head, said: bytes(head) + said,
        st.tuples(st.integers(0, 40), st.integers(0, 255), st.integers(0, 255)),
        st.sampled_from(_answer_words()) | st.binary(max_size=8),
    )
    return st.builds(
        lambda action, lies: bytes([action]) + b"\x1f".join(lies),
        st.integers(0, len(_ACTIONS) - 1),
        st.lists(lie, min_size=1, max_size=3),
    )


SERVER_TARGETS = (
    Target("packets", "answers", _packets, _packet_seeds, _packet_words, _sequences),
    Target("answers", "answers", _answers, _answer_seeds, _answer_words, _structured_lies),
)
