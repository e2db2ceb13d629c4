"""Log in to a server without giving the password away.

Whoever takes a port, or stands in between, can ask for the password itself, and PyMySQL gives it to
them over any TLS. Here only a proof leaves, a hash of the password with the greeting's random
bytes. The password itself leaves for a verified peer only. By caching_sha2_password MySQL asks for
it when it is not in its cache, and ProxySQL for an account whose password it holds as a hash. All
other accounts of ProxySQL need no more than the proof.
"""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from proxyctl.instance.sockets import LOGIN_LIMIT, BoundedSocket
from proxyctl.instance.tls import Authority, unverified

if TYPE_CHECKING:
    from pymysql.connections import Connection

NOT_SENT = "the password was not sent"
_NATIVE, _CACHING, _SHA256 = "mysql_native_password", "caching_sha2_password", "sha256_password"
_GIVES_AWAY = (_SHA256, "mysql_clear_password", "dialog", "mysql_old_password")
"""The methods that send the password itself, or nearly."""
_ED25519 = "client_ed25519"
_ACCEPTED, _WANTS_PASSWORD = 3, 4
_MOST_COLUMNS = 4096
"""The most columns of a result in MySQL; SQLite allows 2,000."""


class PasswordAskedError(Exception):
    """The peer asks for the password itself, and did not get it."""


@dataclass(frozen=True)
class Trust:
    """What allows the password itself to leave; nothing by default."""

    ca: Authority | None = None
    """The authority that verifies the peer's certificate; with it, TLS is used."""
    public_key: bytes | None = None
    """The peer's RSA key, in PEM, which a server takes without TLS only."""
    accepts_risk: bool = False
    """Whether somebody decided to send the password to whoever answers, over TLS only."""


NO_TRUST = Trust()


@cache
def protected_connection() -> type[Connection[Any]]:
    """Return the class of connections; made on demand, because PyMySQL is slow to import."""
    from pymysql import err
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT, CR
    from pymysql.protocol import FieldDescriptorPacket, MysqlPacket

    class ProtectedConnection(Connection):
        """A connection that logs in as this module says, and accepts any announced version.

        ProxySQL announces `mysql-server_version`; with `MariaDB-10.2.31` PyMySQL fails in the
        handshake, and nobody could manage the instance.
        """

        _sock: BoundedSocket
        server_version: str
        server_capabilities: int
        _auth_plugin_name: str
        _columns = 0

        def __init__(
            self,
            *,
            trust: Trust,
            needs_tls: bool,
            statement_s: float | None = None,
            **options: Any,  # noqa: ANN401 - PyMySQL's
        ) -> None:
            self._needs_tls = needs_tls
            self._statement_s = statement_s
            super().__init__(auth_plugin_map=_methods(trust), defer_connect=True, **options)

        def _create_ssl_ctx(self, given: object) -> ssl.SSLContext:
            return given if isinstance(given, ssl.SSLContext) else unverified()

        def _read_packet(self, packet_type: type[MysqlPacket] = MysqlPacket) -> MysqlPacket:
            self._columns = self._columns + 1 if packet_type is FieldDescriptorPacket else 0
            if self._columns > _MOST_COLUMNS:
                raise RuntimeError("more columns than any answer has")
            return super()._read_packet(packet_type)  # type: ignore[no-untyped-call, no-any-return]

        def _request_authentication(self) -> None:
            super()._request_authentication()  # type: ignore[misc]
            if self._statement_s is not None:
                # SET NAMES comes next: a statement, for which ProxySQL lets others finish.
                self._sock.begin(self._statement_s, limit=LOGIN_LIMIT)

        def _get_server_information(self) -> None:
            super()._get_server_information()  # type: ignore[misc]
            if self._needs_tls and not self.server_capabilities & CLIENT.SSL:
                # Some versions of PyMySQL would log in without TLS.
                raise err.OperationalError(CR.CR_SSL_CONNECTION_ERROR, "the instance offers no TLS")
            if self._auth_plugin_name == _SHA256:
                # PyMySQL would answer this greeting with the password. A server that means another
                # method for this account says so next.
                self._auth_plugin_name = _NATIVE
            if not self.server_version.split(".", 1)[0].isdigit():
                self.server_version = f"8.0.0 ({self.server_version})"

    return ProtectedConnection


def _methods(trust: Trust) -> dict[str, Callable[[Connection[Any]], Any]]:
    """Return what answers each login method that PyMySQL may not answer by itself."""
    return {
        _CACHING: partial(_CachingSha2, trust),
        **{method: partial(_Refused, method) for method in _GIVES_AWAY},
        _ED25519: _Unknown,
    }


class _Refused:
    """Refuses a login method that gives the password away."""

    def __init__(self, method: str, _connection: object) -> None:
        self._method = method

    def authenticate(self, _packet: object) -> None:
        """Raises: PasswordAskedError."""
        raise PasswordAskedError(
            f"the server asks for the password using {self._method}; {NOT_SENT}"
        )


class _Unknown:
    """Refuses MariaDB's ed25519, for which PyMySQL needs another package."""

    def __init__(self, _connection: object) -> None:
        pass

    def authenticate(self, _packet: object) -> None:
        """Raises: OperationalError."""
        from pymysql import err
        from pymysql.constants import CR

        message = f"the account logs in with {_ED25519}, which proxyctl does not support"
        raise err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, message)


class _CachingSha2:
    """The login by caching_sha2_password; PyMySQL's own sends the password over any TLS."""

    def __init__(self, trust: Trust, connection: Any) -> None:  # noqa: ANN401 - PyMySQL's
        self._trust = trust
        self._connection = connection

    def authenticate(self, packet: Any) -> Any:  # noqa: ANN401 - PyMySQL's packets
        """Answer a packet; return the one that ends the login."""
        connection = self._connection
        password: bytes = connection.password
        if packet.is_auth_switch_request():
            connection.salt = packet.read_all().removesuffix(b"\0")
            packet = self._sent(scramble(password, connection.salt) if password else b"")
        if not packet.is_extra_auth_data():
            return packet
        packet.advance(1)
        wish = packet.read_uint8()
        if wish == _ACCEPTED:
            return connection._read_packet()
        if wish != _WANTS_PASSWORD:
            raise PasswordAskedError(
                f"the server answers the login with an unknown packet; {NOT_SENT}"
            )
        return self._sent(self._password())

    def _sent(self, data: bytes) -> Any:  # noqa: ANN401 - PyMySQL's packets
        self._connection.write_packet(data)
        return self._connection._read_packet()

    def _password(self) -> bytes:
        """Return what gives the peer the password itself. Raises: PasswordAskedError."""
        trust, connection = self._trust, self._connection
        has_tls = getattr(connection._sock, "version", lambda: None)() is not None
        if has_tls and (trust.ca or trust.accepts_risk):
            return bytes(connection.password) + b"\0"
        if trust.public_key is not None and not has_tls:
            return _encrypted(connection.password, connection.salt, trust.public_key)
        raise PasswordAskedError(
            f"the server asks for the password itself ({_CACHING}) but is not verified; {NOT_SENT}"
        )


def _encrypted(password: bytes, salt: bytes, key: bytes) -> bytes:
    """Return the password under the server's RSA key. Raises: PasswordAskedError."""
    from pymysql._auth import sha2_rsa_encrypt

    if not salt:
        raise PasswordAskedError(f"the server sent no nonce for its public key; {NOT_SENT}")
    try:
        return bytes(sha2_rsa_encrypt(password, salt, key))
    except RuntimeError as error:
        raise PasswordAskedError(
            f"a public key needs the package cryptography; {NOT_SENT}"
        ) from error
    except (ValueError, AttributeError, TypeError) as error:
        # AttributeError and TypeError: a key of another kind.
        raise PasswordAskedError(
            "the public key is not an RSA key in PEM format, or is too short for the password;"
            f" {NOT_SENT}"
        ) from error


def scramble(password: bytes, salt: bytes) -> bytes:
    """Return the proof of caching_sha2_password. Source: MySQL's documentation of the method."""
    inner = hashlib.sha256(password).digest()
    outer = hashlib.sha256(hashlib.sha256(inner).digest() + salt).digest()
    return bytes(byte ^ other for byte, other in zip(inner, outer, strict=True))
