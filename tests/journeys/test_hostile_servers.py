"""A server that attacks gets a proof of the password at most, and holds nobody for long."""

from __future__ import annotations

import errno
import itertools
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
)

from proxyctl.errors import InstanceError
from proxyctl.instance import backend
from proxyctl.instance.authentication import Trust, scramble
from proxyctl.instance.backend import Account
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.tls import Authority
from proxyctl.sandbox import Sandbox
from proxyctl.sandbox import server as sandbox_server
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.measure import run as measured
from tests.support.commands.story import FILES, ended
from tests.support.protocol.faulty_proxy import Exchange, FaultyProxy
from tests.support.protocol.hostile_server import (
    CACHING,
    ENDLESS,
    MODES,
    NAME,
    PLAIN,
    SOCKET,
    TLS,
    TRANSPORTS,
    HostileServer,
    server_key,
)
from tests.support.protocol.mysql_servers import result
from tests.support.protocol.packets import CAPABILITIES, SALT, framed
from tests.support.protocol.raw_client import native
from tests.support.servers.instances import Instance

PASSWORD = "s3cret-of-app"
PROOFS = {
    native(PASSWORD.encode(), SALT),
    scramble(PASSWORD.encode(), SALT),
    scramble(PASSWORD.encode(), b""),
    b"",
}
WAIT_S = 1
LONG_S = 20
"""Much longer than any attack may last, and shorter than those that drip."""


def as_administrator(server: HostileServer) -> None:
    login = Login(
        server.host, server.port, "admin", PASSWORD, socket=server.path,
        tls_required=server.offers_tls, connect_timeout_s=WAIT_S, read_timeout_s=WAIT_S,
    )  # fmt: skip
    with AdminClient(login):
        pass


def as_monitor(server: HostileServer) -> None:
    with backend.backend((server.host, server.port), Account("monitor", PASSWORD)) as connection:
        connection.query("SELECT 1", columns=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hostile")


def check_heard(server: HostileServer) -> None:
    """Check that nothing left but logins, proofs and statements."""
    for packet in server.heard:
        assert PASSWORD.encode() not in packet
        is_login = packet[4:8] == MAX_PACKET
        assert is_login or packet in PROOFS or packet[:1] in (QUIT, QUERY), packet


MAX_PACKET = (0xFFFFFF).to_bytes(4, "little")
"""What follows the capabilities in a login, and in the wish for TLS."""
QUIT, QUERY = b"\x01", b"\x03"


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("mode", MODES)
def test_an_attack_ends_with_one_error(
    folder: Path, mode: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_TIMEOUT_S", WAIT_S)
    for connect_as in (as_administrator, as_monitor):
        if (connect_as, transport) == (as_monitor, SOCKET):
            continue
        with HostileServer(mode, transport, folder) as server:
            began = time.monotonic()
            # A server may answer the monitor in many ways; a ProxySQL has to look like one.
            ends = pytest.raises if connect_as is as_administrator else suppress
            with ends(InstanceError):
                connect_as(server)
            assert time.monotonic() - began < LONG_S
        check_heard(server)


# -- who gets the password itself ------------------------------------------------------------------

ASKS = f"greets with {CACHING.decode()}"
SAID = PASSWORD.encode() + b"\0"


def authority(folder: Path) -> Authority:
    return Authority("ca.pem", (folder / f"{NAME}-ca.pem").read_text)


def test_an_instance_that_is_verified_gets_the_password(folder: Path) -> None:
    """A certificate of ProxySQL's own CA is as good as the CA's key."""
    with HostileServer(ASKS, TLS, folder) as server:
        login = Login(server.host, server.port, password=PASSWORD, ca=authority(folder))
        with pytest.raises(InstanceError):
            AdminClient(login)
    assert SAID in server.heard


def test_the_certificate_names_the_host_where_that_is_asked_for(folder: Path) -> None:
    for host, is_named in (("127.0.0.1", False), (NAME, True)):
        with HostileServer("claims to be MySQL", TLS, folder) as server:
            login = Login(
                server.host, server.port, password=PASSWORD, ca=authority(folder),
                verifies_identity=True,
            )  # fmt: skip
            with pytest.raises(InstanceError) as raised, resolving(host, server.host):
                AdminClient(replace(login, host=host))
        assert ("TLS failed" in raised.value.message) is not is_named
        assert ("does not answer as ProxySQL" in raised.value.message) is is_named


@contextmanager
def resolving(name: str, address: str) -> Iterator[None]:
    """Let a host name lead to this address."""
    ask = socket.getaddrinfo

    def answer(host: str, *rest: Any, **named: Any) -> Any:
        return ask(address if host == name else host, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", answer)
        yield


@pytest.mark.parametrize("transport", [PLAIN, TLS])
def test_a_server_that_does_not_know_the_account_yet(folder: Path, transport: str) -> None:
    """MySQL 8 asks for the password itself until its cache has the account."""

    def said(**trust: Any) -> bool:
        with HostileServer(ASKS, transport, folder) as server, suppress(InstanceError):
            account = Account("boss", PASSWORD, Trust(**trust))
            with backend.backend((server.host, server.port), account):
                pass
        return SAID in server.heard

    assert not said()
    assert said(ca=authority(folder)) is (transport == TLS)
    assert said(accepts_risk=True) is (transport == TLS)


def test_a_server_whose_key_is_known(folder: Path) -> None:
    with HostileServer(ASKS, PLAIN, folder) as server, suppress(InstanceError):
        private = load_pem_private_key(server_key(folder).read_bytes(), None)
        assert isinstance(private, RSAPrivateKey)
        public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        account = Account("boss", PASSWORD, Trust(public_key=public))
        with backend.backend((server.host, server.port), account):
            pass
    scheme = OAEP(mgf=MGF1(algorithm=SHA1()), algorithm=SHA1(), label=None)
    decrypted = private.decrypt(
        next(packet for packet in server.heard if len(packet) == 256), scheme
    )
    salt = itertools.cycle(SALT)
    assert bytes(byte ^ other for byte, other in zip(decrypted, salt, strict=False)) == SAID


OTHER_KEY = (
    Ed25519PrivateKey.generate()
    .public_key()
    .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
)


def test_a_key_is_not_used_without_a_nonce(folder: Path) -> None:
    public = (
        load_pem_private_key(server_key(folder).read_bytes(), None)
        .public_key()
        .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    with HostileServer("switches without a nonce", PLAIN, folder) as server:
        account = Account("boss", PASSWORD, Trust(public_key=public))
        node = server.host, server.port
        with pytest.raises(InstanceError, match="no nonce"), backend.backend(node, account):
            pass
    check_heard(server)


@pytest.mark.parametrize("key", [b"no key", b"", OTHER_KEY], ids=["text", "empty", "ed25519"])
def test_a_key_that_is_none(folder: Path, key: bytes) -> None:
    with HostileServer(ASKS, PLAIN, folder) as server:
        account = Account("boss", PASSWORD, Trust(public_key=key))
        node = server.host, server.port
        with pytest.raises(InstanceError, match="not an RSA key"), backend.backend(node, account):
            pass
    check_heard(server)


def test_the_refusal_names_the_ways(folder: Path) -> None:
    with HostileServer(ASKS, TLS, folder) as server:
        node = server.host, server.port
        with pytest.raises(InstanceError) as raised, backend.backend(node, Account("x", PASSWORD)):
            pass
    assert "asks for the password itself" in raised.value.message
    fix = str(raised.value.fix)
    ways = ["--backend-ca", "--backend-public-key", "log in once", "--backend-unverified"]
    assert sorted(ways, key=fix.index) == ways


# -- every command ---------------------------------------------------------------------------------

COMMANDS = (
    "plan", "apply --auto-approve", "drift", "export", "lint --host 127.0.0.1", "doctor", "unlock",
    "nodes list", "nodes drain db1", "nodes restore db1", "nodes discover --seed 127.0.0.1",
    "digest top", "digest snapshot -o snapshot.gz", "digest suggest", "digest report -o page.html",
    "digest reset --auto-approve", "rules", "replay", "snapshot", "rollback --auto-approve",
    "explain --host 127.0.0.1 SELECT",
)  # fmt: skip
"""The commands that connect to an instance, but for top, which needs a terminal."""
BACKEND_COMMANDS = (
    "import --users-from 127.0.0.1:{port} --backend-user boss",
    "nodes discover --seed 127.0.0.1:{port}",
    "nodes list",
    "doctor",
)


@pytest.fixture
def bait(offline: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with passwords that nobody should get, whose commands do not wait for long."""
    offline.write(FILES)
    for name in ("PASSWORD", "BACKEND_PASSWORD"):
        monkeypatch.setenv(f"PROXYCTL_{name}", PASSWORD)
    *others, _, _ = Login.__init__.__defaults__ or ()
    monkeypatch.setattr(Login.__init__, "__defaults__", (*others, WAIT_S, WAIT_S))
    monkeypatch.setattr(backend, "_TIMEOUT_S", WAIT_S)
    return offline


@pytest.mark.sweep
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_survives_every_attack(
    bait: Project, folder: Path, command: str, transport: str
) -> None:
    words = command.split()
    for mode in MODES:
        with HostileServer(mode, transport, folder) as server:
            where = ["--socket", server.path] if server.path else ["--port", str(server.port)]
            if transport == TLS:
                where.append("--tls-required")
            began = time.monotonic()
            found = proxyctl(*words, *where)
            assert time.monotonic() - began < LONG_S, mode
            assert server.was_reached, found.text
        assert found.code in (1, 64), f"{mode}: {found.text}"
        assert "Traceback" not in found.text
        assert "internal error" not in found.text
        assert PASSWORD not in found.text
        check_heard(server)


@pytest.mark.sweep
@pytest.mark.parametrize("transport", [PLAIN, TLS])
@pytest.mark.parametrize("command", BACKEND_COMMANDS)
def test_every_command_survives_servers_that_attack(
    bait: Project, folder: Path, command: str, transport: str
) -> None:
    for mode in MODES:
        with HostileServer(mode, transport, folder) as server, Sandbox() as sandbox:
            bait.monkeypatch.setenv("PROXYCTL_PASSWORD", "admin")
            instance = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
            for sql in (
                "INSERT INTO mysql_servers(hostgroup_id,hostname,port)"
                f" VALUES(1,'127.0.0.1',{server.port})",
                f"SET mysql-monitor_password='{PASSWORD}'",
                "LOAD MYSQL SERVERS TO RUNTIME",
                "LOAD MYSQL VARIABLES TO RUNTIME",
            ):
                instance.execute(sql)
            instance.close()
            began = time.monotonic()
            bait.monkeypatch.setenv("PROXYCTL_PORT", str(sandbox.port))
            found = proxyctl(*command.format(port=server.port).split())
            assert time.monotonic() - began < 2 * LONG_S, mode
            assert server.was_reached, found.text
        assert "Traceback" not in found.text
        assert "internal error" not in found.text
        assert PASSWORD not in found.text
        check_heard(server)


@pytest.mark.sweep
@pytest.mark.parametrize("mode", ENDLESS)
def test_memory_stays_small(bait: Project, folder: Path, mode: str) -> None:
    with HostileServer(mode, PLAIN, folder) as server:
        command = [sys.executable, "-m", "proxyctl", "plan", "--port", str(server.port)]
        found = measured(command)
    assert found.code == 1
    assert found.megabytes < 200


def test_an_answer_with_a_row_that_is_none(offline: Project) -> None:
    """PyMySQL reads the rest of such an answer when it forgets it."""

    def cut(exchange: Exchange) -> None:
        exchange.ask()
        start = result([b"a", b"b", b"c"], [])[:-9]
        exchange.deliver(start + framed(6, b"\x05ab"))

    offline.write(FILES)
    with Sandbox() as sandbox, FaultyProxy(sandbox.host, sandbox.port) as proxy:
        offline.connect(Instance(sandbox.host, proxy.port))
        assert proxyctl("plan").code == 0
        tables = [place for place, sql in proxy.log if "json_group_array" in sql]
        proxy.arm({tables[0]: cut})
        command = [sys.executable, "-m", "proxyctl", "plan", "--port", str(proxy.port)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "the answer is not in the MySQL protocol" in found.stderr
    assert "Traceback" not in found.stderr


# -- the sandbox as a server -----------------------------------------------------------------------


def test_a_client_of_the_sandbox_has_to_log_in_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_server, "LOGIN_S", 0.2)
    with Sandbox() as sandbox:
        for sent in (b"\xff\xff\xff\x01" + bytes(1 << 17), b""):
            with socket.create_connection((sandbox.host, sandbox.port)) as client:
                client.settimeout(LONG_S)
                with suppress(ConnectionError):  # it does not read what is too much
                    client.sendall(sent)
                    while client.recv(65536):
                        pass


@pytest.mark.parametrize("length", [1, 2, 255])
def test_a_login_that_promises_more_than_it_has(length: int) -> None:
    """The library that reads it would look for the end for ever, and hold up the whole process."""
    with Sandbox() as sandbox:
        with socket.create_connection((sandbox.host, sandbox.port)) as client:
            head = CAPABILITIES.to_bytes(4, "little") + bytes(4) + b"\x21" + bytes(23)
            client.sendall(framed(1, head + b"admin\0" + bytes([length])))
        Instance(sandbox.host, sandbox.port, sandbox=sandbox).query("SELECT 1")


def test_a_sandbox_without_room_goes_on_when_there_is_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = threading.Event()
    accept = socket.socket.accept

    def full(listening: socket.socket) -> tuple[socket.socket, Any]:
        if not tried.is_set():
            tried.set()
            raise OSError(errno.EMFILE, "Too many open files")
        return accept(listening)

    monkeypatch.setattr(socket.socket, "accept", full)
    with Sandbox() as sandbox:
        assert tried.wait(LONG_S)
        Instance(sandbox.host, sandbox.port, sandbox=sandbox).query("SELECT 1")


def test_a_sandbox_lets_nobody_in_from_elsewhere(offline: Project) -> None:
    everywhere = ("sandbox", "--host", "0.0.0.0")
    ended(proxyctl(*everywhere), 64, "a sandbox has well-known passwords", "--password-file")
    offline.write("\n", "empty")
    ended(proxyctl(*everywhere, "--password-file", "empty"), 64, "the password is empty")
