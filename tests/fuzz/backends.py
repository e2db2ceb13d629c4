"""What a server behind ProxySQL answers: right, nearly right, cut off, or no MySQL at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import strategies as st

from proxyctl.admin.backend import Account
from proxyctl.admin.backends import ask_nodes
from proxyctl.admin.client import AdminClient
from proxyctl.admin.login import Login
from proxyctl.admin.pxc_maint_mode import OFF, ON, read_maint_mode, set_maint_mode
from proxyctl.catalog import REFERENCE
from proxyctl.cli.import_users import imported_users
from proxyctl.config.load import mistakes_in
from proxyctl.control_characters import CONTROL
from proxyctl.doctor.examine import examine
from proxyctl.doctor.facts import Facts, read_facts
from proxyctl.families import Family, Node
from proxyctl.formats.exported import exported_text
from proxyctl.formats.pxc_section import pxc_section
from proxyctl.nodes.discovery import compared, members_in, silent_in
from proxyctl.nodes.model import NodeGroup, NodeReport, NodeView, Said
from proxyctl.render.doctor import doctor_json, doctor_text
from proxyctl.render.nodes_discover_text import membership_text
from proxyctl.render.nodes_machine import Instance, membership_json, nodes_json
from proxyctl.render.nodes_text import nodes_text
from tests.fuzz.lies import Lie, lies_in, twisted
from tests.fuzz.target import Run, Target
from tests.support.answering_server import (
    GREETING,
    OK,
    Answer,
    AnsweringServer,
    Cell,
    packets,
    result,
)
from tests.support.recorded_answers import RecordedAnswers

# -- servers that tell the truth -------------------------------------------------------------------

_SHA2 = (b"$A$005$" + b"\x01\x02abcdefghijklmnopqr" + b"A" * 43).hex().encode()
_NATIVE = (b"*" + b"A" * 40).hex().encode()
_ADDRESSES = b"10.0.0.1:3306,10.0.0.2:3307,,[fd00::1]:3306,unspecified"


@dataclass(frozen=True)
class _Product:
    """A server: its variables and status by name, the columns of mysql.user, and tables beside."""

    version: bytes
    values: Mapping[str, bytes]
    columns: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    plugin: bytes = b"mysql_native_password"
    password: bytes = _NATIVE


_WSREP = {
    "threads_connected": b"7",
    "wsrep_cluster_size": b"3",
    "wsrep_cluster_status": b"Primary",
    "wsrep_incoming_addresses": _ADDRESSES,
    "wsrep_local_recv_queue": b"0",
    "wsrep_local_state_comment": b"Synced",
    "wsrep_cluster_name": b"shop",
    "wsrep_desync": b"OFF",
    "wsrep_node_name": b"pxc1",
    "wsrep_provider_options": b"base_port = 4567; gmcast.segment = 1; gcache.size = 128M",
    "wsrep_reject_queries": b"NONE",
    "read_only": b"OFF",
}
_PXC = {**_WSREP, "pxc_maint_mode": b"DISABLED", "pxc_maint_transition_period": b"10"}
_FLAGS = ("authentication_string", "Super_priv", "Grant_priv", "Process_priv")
_PRODUCTS = (
    _Product(
        b"8.0.36-28.1",
        {**_PXC, "version_comment": b"Percona XtraDB Cluster"},
        (*_FLAGS, "account_locked"),
        ("global_grants",),
        b"caching_sha2_password",
        _SHA2,
    ),
    _Product(b"10.11.6-MariaDB", _WSREP, (*_FLAGS, "is_role"), ("global_priv",)),
    _Product(b"5.7.44-log", {"read_only": b"ON"}, (*_FLAGS, "account_locked")),
    _Product(b"8.0.35", {**_PXC, "pxc_maint_mode": b"MAINTENANCE"}),
)
_ACCOUNTS = (b"app", b"boss", b"mysql.sys", b"", b"caf\xc3\xa9")
_LISTED = re.compile(r"'(\w+)'")


def _told(product: _Product, sql: str) -> tuple[list[bytes], list[list[Cell]]] | None:
    """Return what the server says; None where that is OK."""
    values = {**product.values, "version": product.version}
    if sql.startswith("SHOW GLOBAL"):
        names = [name for name in _LISTED.findall(sql) if name in values]
        return [b"Variable_name", b"Value"], [[name.encode(), values[name]] for name in names]
    if sql.startswith("SHOW COLUMNS"):
        about: list[Cell] = [b"char(1)", b"NO", b"", None, b""]
        return [b"Field"] + [b"x"] * 5, [[name.encode(), *about] for name in product.columns]
    if sql.startswith("SHOW TABLES"):
        return [b"name"], [[name.encode()] for name in product.beside if f"'{name}'" in sql]
    if sql.startswith("SELECT User, Host, plugin"):
        rest = sql.partition("HEX(")[2].partition(" FROM")[0].count(",")
        head: list[list[Cell]] = [
            [name, b"10.%", product.plugin, product.password] for name in _ACCOUNTS
        ]
        flags = [b"Y" if name == b"boss" else b"N" for name in _ACCOUNTS]
        rows = [[*row, *[flag] * rest] for row, flag in zip(head, flags, strict=True)]
        return [b"a"] * (4 + rest), rows
    if sql.startswith("SELECT USER, HOST, PRIV"):
        return [b"a"] * 3, [[b"app", b"10.%", b"SYSTEM_VARIABLES_ADMIN"]]
    if sql.startswith("SELECT User, Host FROM mysql.global_priv"):
        return [b"a"] * 2, [[b"app", b"10.%"]]
    return None


# -- what is asked ---------------------------------------------------------------------------------

_ACCOUNT = Account("monitor", "secret")
_INSTANCE = Instance("px1", "127.0.0.1:6032", "2.7.1")
_FAMILY = Family("galera", 10, frozenset({10, 20, 30, 40}), offline=40)
_CONTROL = re.compile(rf"[{CONTROL}\ud800-\udfff]")


def _shown(text: str) -> None:
    """See that what a server says cannot move the cursor of the person who reads it."""
    assert not _CONTROL.search(text.replace("\n", "")), repr(text)


def _said(node: Node) -> Said:
    return ask_nodes([node], _ACCOUNT)[node]


def _list(node: Node, _facts: Facts) -> None:
    group = NodeGroup((10,), _FAMILY, (NodeView(node, said=_said(node)),))
    report = NodeReport(_INSTANCE.name, _INSTANCE.address, _INSTANCE.version, (group,))
    _shown(nodes_text(report))
    _shown(nodes_text(report, width=60))
    nodes_json(report)


def _in_small_letters(hosts: Collection[str]) -> dict[str, tuple[str]]:
    """Return each host with its address, which costs no look-up."""
    return {host: (host.lower(),) for host in hosts}


def _discover(node: Node, _facts: Facts) -> None:
    """Compare what one node tells of all. The others are not asked: a lie could name anybody."""
    said = _said(node)
    cluster = said.variables.get("wsrep_cluster_name", "")
    addresses = said.status.get("wsrep_incoming_addresses", "")
    members, silent = dict.fromkeys(members_in(addresses), said), silent_in(addresses)
    for configured in ({}, {_FAMILY: (("10.0.0.1", 3306), node)}):
        found = compared(cluster, members, configured, _in_small_letters, silent=silent)
        _shown(membership_text(found))
        section = pxc_section(cluster, members, silent=silent) if members else None
        membership_json(_INSTANCE, found, section)
    if section is not None:
        json.dumps(section)
        section.encode("utf-8", "surrogateescape")
        mistakes_in(section, REFERENCE)


def _maint_mode(node: Node, _facts: Facts) -> None:
    found = read_maint_mode(node, _ACCOUNT)
    if found.mode in (OFF, ON):
        set_maint_mode(node, _ACCOUNT, found.mode, found)


def _users(node: Node, _facts: Facts) -> None:
    exported = imported_users(f"{node[0]}:{node[1]}", _ACCOUNT, REFERENCE, 1)
    text = exported_text(exported, "yaml", "hash", check=lambda text: mistakes_in(text, REFERENCE))
    mistakes = mistakes_in(text, REFERENCE)
    assert not mistakes, [mistake.text() for mistake in mistakes]


def _doctor(node: Node, facts: Facts) -> None:
    said = _said(node)
    found = examine(replace(facts, answers={node: said}, versions={node: said.version}))
    _shown(doctor_text(found))
    doctor_json(found)


_Ask = Callable[[Node, Facts], None]
_ASKS: tuple[_Ask, ...] = (_list, _discover, _maint_mode, _users, _doctor)


# -- inputs ----------------------------------------------------------------------------------------


@contextmanager
def _backends(folder: Path) -> Iterator[Run]:
    """Return what asks a server that does not tell the truth.

    The first byte of an input chooses who asks, and the product; then come lies: in the greeting,
    in what is said to the login, and from the third on in the answer to a statement.
    """
    with AnsweringServer(None, lambda _: packets([OK])) as server:
        node: Node = ("127.0.0.1", server.port)
        facts = _facts(folder, node)

        def run(data: bytes) -> None:
            first = data[0] if data else 0
            product = _PRODUCTS[first // len(_ASKS) % len(_PRODUCTS)]
            lies = dict(lies_in(data[1:]))
            count = 1

            def answer(sql: bytes) -> Answer:
                nonlocal count
                count += 1
                told = _told(product, sql.decode())
                if count in lies and lies[count][0] >= _BROKEN:
                    server.says_no_more = True
                    return _broken(lies[count], packets([OK]) if told is None else result(*told))
                if count in lies:
                    return twisted(lies[count], *(told or ([b"a"], [])))
                return packets([OK]) if told is None else result(*told)

            server.answer = answer
            server.says_no_more = False
            server.login = packets([OK], first=2)
            server.greeting = _greeting(product, b"")
            if 0 in lies and lies[0][0] < _BROKEN:
                server.greeting = _greeting(product, lies[0][2])
            elif 0 in lies:
                server.says_no_more = True
                server.greeting = _broken(lies[0], server.greeting)
            elif 1 in lies and lies[1][0] >= _BROKEN:
                server.says_no_more = True
                server.greeting += lies[1][2]
            elif 1 in lies:
                server.login = _login(lies[1])
            _ASKS[first % len(_ASKS)](node, facts)

        yield run


def _facts(folder: Path, node: Node) -> Facts:
    """Return what doctor knows of an instance with this server, and that it answers."""
    server = f"(1, '{node[0]}', {node[1]})"
    rows = (
        f"INSERT INTO mysql_servers(hostgroup_id, hostname, port) VALUES {server}",
        "LOAD MYSQL SERVERS TO RUNTIME",
    )
    with (
        RecordedAnswers(rows) as truth,
        AnsweringServer(folder, truth.answer) as instance,
        AdminClient(Login(socket=instance.path, password="admin")) as client,
    ):
        return read_facts(client, asks=False)


_BROKEN = 160
"""Lies of this kind and above leave nothing that could be asked further."""


def _broken(lie: Lie, truth: Answer) -> Answer:
    """Return an answer whose bytes are wrong, and behind which nothing comes."""
    kind, place, said = lie
    at = place * len(truth) // 256
    match kind % 8:
        case 0:
            return truth[:at]
        case 1:
            return truth[:at] + said
        case 2:
            return truth[:at] + said + truth[at + len(said) :]
        case 3:
            return packets([said])
        case 4:
            return packets([b"\x01", *said.split(b"\x1e")])
        case 5:  # of another type, and binary
            return truth.replace(b"\x21\0\xff\xff\0\0\xfd", b"\x3f\0\xff\xff\0\0" + bytes([place]))
        case 6:
            return said
        case _:
            return packets([bytes([place]) + said])


def _greeting(product: _Product, said: bytes) -> Answer:
    """Return a greeting with the version of the product, or with this one."""
    version = (said or product.version).replace(b"\0", b"")[:200]
    body = GREETING[4:].replace(b"5.7.30", version)
    return packets([body], first=0)


def _login(lie: Lie) -> Answer:
    kind, place, said = lie
    match kind % 5:
        case 0:
            return packets([said], first=2)
        case 1:
            return packets([b"\xfe" + said + b"\0" + b"1" * 20 + b"\0"], first=2)
        case 2:
            switch = b"\xfecaching_sha2_password\0" + b"1" * 20 + b"\0"
            return packets([switch], first=2) + packets([b"\x01" + said, OK], first=4)
        case 3:
            return packets(
                [b"\xff" + (1040 + place).to_bytes(2, "little") + b"#28000" + said], first=2
            )
        case _:
            return packets([OK], first=place)


def _seeds() -> Sequence[bytes]:
    """Return every product's right answers, and each kind of lie in each of its answers.

    Kinds below 24 take turns in the cells of a row, its name and its value. What is said there, and
    in which row, changes with each: all of them would be too many.
    """
    said = (
        *(b"", b"x\x1b[2J", b"-1", b"NULL", b"8.0.36\x1b[2J", b"9" * 30, b"9" * 10, b"\xff"),
        *(b"a:1\x1b[2J,b:2", b"8.0.36", b"\x1b[2J"),
    )
    kinds = (*range(24), *range(_BROKEN, _BROKEN + 8))
    chosen = range(len(_ASKS) * len(_PRODUCTS))
    lies = [(first, number, kind) for first in chosen for number in range(8) for kind in kinds]
    return [bytes([first]) for first in chosen] + [
        bytes([*lie, turn % 251]) + said[turn % len(said)] for turn, lie in enumerate(lies)
    ]


def _words() -> Sequence[bytes]:
    return (
        *(b"\xfb/etc/passwd", b"\xfc", b"\xfd", b"\xfe", b"\xff", b"\0\0\0", b"\x1e", b"\x1f", OK),
        *(
            b"mysql_clear_password",
            b"caching_sha2_password",
            b"sha256_password",
            b"dialog",
            b"\x04",
        ),
        *(b"wsrep_incoming_addresses", b"wsrep_provider_options", b"gmcast.segment = ", b"version"),
        *(b"pxc_maint_mode", b"pxc_maint_transition_period", b"MAINTENANCE", b"SHUTDOWN", b"ON"),
        *(b"10.0.0.1:3306", b"[::1]:99999", b":", b",", b"a" * 300, b"5.5.5-10.6.1-MariaDB"),
        *(b"is_role", b"account_locked", b"authentication_string", b"Super_priv", b"Y", b"%"),
        *(
            _NATIVE,
            _SHA2,
            b"2A",
            b"non-Primary",
            b"Donor/Desynced",
            b"e\xcc\x81",
            "\u202e".encode(),
        ),
    )


def _structured() -> st.SearchStrategy[bytes]:
    head = st.tuples(st.integers(0, 9), st.integers(0, 255), st.integers(0, 255)).map(bytes)
    text = st.sampled_from(_words()) | st.binary(max_size=8)
    lie = st.builds(lambda head, said: head + said, head, text)
    return st.builds(
        lambda first, lies: bytes([first]) + b"\x1f".join(lies),
        st.integers(0, len(_ASKS) * len(_PRODUCTS) - 1),
        st.lists(lie, min_size=1, max_size=3),
    )


BACKEND_TARGETS = (Target("backends", "answers", _backends, _seeds, _words, _structured),)
