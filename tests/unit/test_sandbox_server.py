"""The sandbox over the network: logins, packets, several clients, and how it ends."""

from __future__ import annotations

import socket
from contextlib import closing

import pymysql
import pytest

from proxyctl.errors import ProxyctlError
from proxyctl.sandbox import Sandbox
from tests.support.protocol.packets import CAPABILITIES, framed
from tests.support.protocol.raw_client import RawClient, native
from tests.support.servers.instances import Instance, run


def test_a_statement_above_16_megabytes_is_refused(sandbox_instance):
    with pytest.raises(pymysql.err.MySQLError, match="above 16 MB"):
        sandbox_instance.run(f"SELECT length('{'x' * 17_000_000}')")
    assert sandbox_instance.query(f"SELECT length('{'x' * 12_000_000}')") == [("12000000",)]


@pytest.mark.parametrize("user", ["admin", "stats", "monitor", "radmin"])
def test_well_known_names_come_from_this_machine_only(sandbox, user):
    def login(address: str) -> None:
        pymysql.connect(
            host=sandbox.host, port=sandbox.port, user=user, password=user, bind_address=address
        ).close()

    login("127.0.0.1")
    for remote, address in ((False, "127.0.0.2"), (True, "127.0.0.1")):
        sandbox.options.clients_are_remote = remote
        if user == "radmin":
            login(address)
            continue
        with pytest.raises(pymysql.err.MySQLError) as caught:
            login(address)
        assert caught.value.args == (1040, f"User '{user}' can only connect locally")


def test_other_users_can_be_given():
    with Sandbox(users={"boss": "p:w"}, stats_users={}) as sandbox:
        instance = Instance(sandbox.host, sandbox.port, "boss", "p")
        assert instance.query("SELECT USER()") == [("boss@127.0.0.1",)]
        instance.close()
        with pytest.raises(pymysql.err.MySQLError, match="Access denied"):
            instance.connect("admin", "admin")


def test_stopping_cuts_off_the_clients(sandbox, sandbox_instance):
    sandbox_instance.run("INSERT INTO mysql_servers (hostname) VALUES ('a')")
    with closing(sandbox_instance.connect()) as connection:
        sandbox.stop()
        with pytest.raises(pymysql.err.OperationalError):
            run(connection, "SELECT 1")
    with pytest.raises(pymysql.err.OperationalError):
        sandbox_instance.connect()
    sandbox_instance.close()
    sandbox.start(port=sandbox.port)
    assert sandbox_instance.query("SELECT hostname FROM mysql_servers") == [("a",)]


@pytest.mark.parametrize(
    ("family", "host", "message"),
    [
        (socket.AF_INET, "127.0.0.1", r"cannot listen on 127\.0\.0\.1"),
        (socket.AF_INET6, "::1", r"cannot listen on \[::1\]:"),
    ],
)
def test_a_taken_port_is_an_error(family, host, message):
    with closing(socket.socket(family)) as other:
        other.bind((host, 0))
        other.listen()
        sandbox = Sandbox()
        with pytest.raises(ProxyctlError, match=message):
            sandbox.start(host, other.getsockname()[1])
        sandbox.close()


@pytest.mark.parametrize("host", ["", " "])
def test_an_empty_address_is_not_all_addresses(host):
    sandbox = Sandbox()
    with pytest.raises(ProxyctlError, match="the address is empty"):
        sandbox.start(host)
    sandbox.close()


def test_a_request_for_tls_that_is_not_there_ends_the_connection(sandbox):
    with RawClient(sandbox.host, sandbox.port) as client:
        tls = (CAPABILITIES | 0x800).to_bytes(4, "little")
        client.socket.sendall(framed(1, tls + bytes(28)))
        assert client.answers(1) == []


def test_a_password_whose_proof_ends_with_a_nul(sandbox):
    # One nonce in 256 gives such a proof.
    for _ in range(4000):
        with RawClient(sandbox.host, sandbox.port) as client:
            if native(b"admin", client.nonce).endswith(b"\0"):
                assert client.login()[0][1][:1] == b"\0"
                return
    pytest.fail("no such nonce")


def test_a_fault_of_ours_is_answered(sandbox, monkeypatch):
    def fail(_sql):
        raise RuntimeError("oh")

    monkeypatch.setattr(sandbox.options, "before_statement", fail)
    with RawClient(sandbox.host, sandbox.port) as client:
        client.login()
        client.send(b"\x03SELECT 1")
        assert b"which is a bug in proxyctl: RuntimeError: oh" in client.read()[1]
