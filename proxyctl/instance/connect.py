"""From a login to an open connection; every known reason why that fails has its way out.

A password must not leave because the other end asks for it: who listens in, or took the port while
ProxySQL was down, can answer like a server and ask for it in clear text.
"""

from __future__ import annotations

import errno
import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxyctl.errors import InstanceError, ProxyctlError, os_reason

if TYPE_CHECKING:
    from pymysql.connections import Connection


CONNECT_TIMEOUT_S = 10


READ_TIMEOUT_S = 60.0
"""Somebody's read of a large digest table holds the whole admin interface for seconds."""


PORTS = "the admin port is 6032 by default; 6033 is for applications"
"""The way out where no admin interface answers."""


LOST = (2006, 2013, 2014, 2055)
"""The codes of a connection that broke."""


NOT_UNDERSTOOD = (AssertionError, IndexError, RuntimeError, ValueError, struct.error)
"""What PyMySQL raises, beside its own errors, over packets that are none of the protocol."""


_WITHOUT_PROTECTION = frozenset((b"mysql_clear_password", b"dialog", b"mysql_old_password"))
"""Methods that send the password as it is, or nearly. ProxySQL's admin interface has none."""


@dataclass(frozen=True)
class Authority:
    """A CA: how messages name its file, and what returns its PEM text."""

    named: str
    read: Callable[[], str]


@dataclass(frozen=True)
class Login:
    """Where an admin interface is, and who we are there. `password` never appears in a repr."""

    host: str = "127.0.0.1"
    port: int = 6032
    user: str = "admin"
    password: str = ""
    name: str = ""
    socket: str | None = None
    ca: Authority | None = None
    tls_required: bool = False
    connect_timeout_s: int = CONNECT_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S

    def __repr__(self) -> str:
        return f"Login({self.user}@{self.address})"

    @property
    def address(self) -> str:
        """`host:port`, or the path of the socket."""
        return self.socket or f"{self.host}:{self.port}"


def open_connection(login: Login) -> Connection[Any]:
    """Connect.

    Raises: InstanceError; each known reason with its way out.
    """
    from pymysql import err

    tls = tls_context(login)
    try:
        return _opened(login, tls)
    except UnicodeDecodeError as error:
        raise _no_server(login) from error
    except (err.Error, OSError, UnicodeError) as error:
        raise _refused(login, error) from error
    except NOT_UNDERSTOOD as error:
        raise _no_server(login) from error


def _opened(login: Login, tls: ssl.SSLContext | None) -> Connection[Any]:
    made = _connection_class(login, needs_tls=tls is not None)
    connection: Connection[Any] = made(
        host=login.host,
        port=login.port,
        unix_socket=login.socket,
        user=login.user,
        password=login.password.encode(),  # as text, PyMySQL would take it for latin1
        connect_timeout=login.connect_timeout_s,
        read_timeout=login.connect_timeout_s,
        write_timeout=login.read_timeout_s,
        charset="utf8mb4",
        use_unicode=False,
        autocommit=None,
        ssl=tls,
        ssl_disabled=tls is None and is_local(login),
    )
    # The greeting comes at once or never; a statement may wait for somebody else's.
    connection._read_timeout = login.read_timeout_s  # type: ignore[attr-defined]
    return connection


def _connection_class(login: Login, *, needs_tls: bool) -> type[Any]:
    """Return the class of a connection. PyMySQL takes its time to import: not before it is used."""
    from pymysql import err
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT, CR

    def check(reason: str | None) -> None:
        if reason:
            raise err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, reason)

    class AdminConnection(Connection):
        """A connection that gives no password away, and survives any announced version.

        The admin port announces `mysql-server_version`; with `MariaDB-10.2.31` PyMySQL fails in
        the handshake, and the instance could not be managed at all.
        """

        server_version: str
        server_capabilities: int

        def connect(self, sock: socket.socket | None = None) -> None:
            """Connect. PyMySQL itself would leave a Unix socket open that could not connect."""
            if sock is None and login.socket:
                sock = _unix_socket(login.socket, login.connect_timeout_s)
                self._secure = True
            super().connect(sock)

        def _get_server_information(self) -> None:
            super()._get_server_information()  # type: ignore[misc]
            if needs_tls and not self.server_capabilities & CLIENT.SSL:
                # Not every PyMySQL refuses: some log in without TLS then.
                raise err.OperationalError(CR.CR_SSL_CONNECTION_ERROR, "the instance offers no TLS")
            if not self.server_version.split(".", 1)[0].isdigit():
                self.server_version = f"8.0.0 ({self.server_version})"

        def _process_auth(self, plugin_name: bytes, *rest: Any) -> Any:  # noqa: ANN401 - PyMySQL's
            check(why_not_answered(plugin_name))
            return super()._process_auth(plugin_name, *rest)  # type: ignore[misc]

        @property
        def server_public_key(self) -> bytes | None:
            """The key to send a whole password with, where there is no TLS."""
            return self._key

        @server_public_key.setter
        def server_public_key(self, key: bytes | None) -> None:
            if key is not None:
                check(why_no_key(login))
            self._key = key

    return AdminConnection


def _unix_socket(path: str, timeout_s: int) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(timeout_s)
        opened.connect(path)
    except OSError:
        opened.close()
        raise
    return opened


def _denied_fix(login: Login, answer: str) -> str:
    """Return what may be wrong. Both ports of ProxySQL refuse an account in the same words."""
    if not answer.startswith("ProxySQL"):
        return f"no ProxySQL answered, but a MySQL server; {PORTS}"
    if login.socket is None and login.port == 6033:
        return PORTS
    return (
        "check the user and the password: accounts are in admin-admin_credentials of the instance;"
        " a mysql_users row with the same name replaces such an account; the port for applications"
        " refuses all of them"
    )


def _no_server(login: Login) -> InstanceError:
    return InstanceError(f"{login.address} does not speak the MySQL protocol", fix=PORTS)


def _refused(login: Login, error: Exception) -> InstanceError:
    code, text = code_and_text(error)
    where = f"{login.user}@{login.address}"
    if isinstance(error, UnicodeError):
        return InstanceError(f"{login.host}: not a host name")
    if code == 1040 and "only connect locally" in text:
        return InstanceError(
            f"{where}: ProxySQL lets {login.user} in only from the machine it runs on",
            fix="add another account to admin-admin_credentials, such as radmin, and use that",
        )
    if code == 1045 and not login.password:
        return InstanceError(
            f"{where}: no password given", fix="set PROXYCTL_PASSWORD or --password-file"
        )
    if code == 1045:
        return InstanceError(
            f"{where}: access denied: wrong user or password", fix=_denied_fix(login, text)
        )
    if "SSL" in text or "TLS" in text or isinstance(error, ssl.SSLError):
        return InstanceError(
            f"{where}: TLS failed: {text}",
            fix="mysql-have_ssl must be true, and --tls-ca the CA of the instance's certificate",
        )
    reason, fix = _why_not_reached(login, error)
    return InstanceError(f"cannot connect to {login.address}: {reason}", fix=fix)


def _why_not_reached(login: Login, error: Exception) -> tuple[str, str]:
    """Return why there is no connection, and the fix."""
    cause = _cause(error)
    reason = unreachable_reason(error, login.connect_timeout_s)
    listens = "is ProxySQL running, and is this its admin port (admin-mysql_ifaces, default 6032)?"
    if isinstance(cause, socket.gaierror):
        return str(reason), "check the spelling of the host, and the DNS server"
    if isinstance(cause, FileNotFoundError):
        return "no such socket", "use the socket that admin-mysql_ifaces names"
    if _is_timeout(cause) and code_and_text(error)[0] == _NO_GREETING:
        return str(reason), _MUTE
    if _is_timeout(cause):
        return str(reason), f"does a firewall drop the packets? {listens}"
    if isinstance(cause, OSError) and cause.errno in _NO_NETWORK:
        return str(reason), "check the address and the routes of this machine"
    if isinstance(cause, ConnectionResetError) or code_and_text(cause)[0] in LOST:
        return "the connection was closed before ProxySQL answered", listens
    if isinstance(cause, OSError) and cause.strerror:
        return reason or os_reason(cause), listens
    return code_and_text(cause)[1] or type(cause).__name__, listens


_NO_GREETING = 2013
"""What PyMySQL says when it is connected and then hears nothing."""
_MUTE = (
    "ProxySQL answers nobody while another program (a backup, sqlite3) has its proxysql.db locked:"
    f" `fuser -v proxysql.db` in the datadir lists who has it open; else {PORTS}"
)
_NO_NETWORK = (errno.EHOSTUNREACH, errno.ENETUNREACH)


def unreachable_reason(error: Exception, timeout_s: float) -> str | None:
    """Return why a host cannot be reached, the same for every host; None for another error."""
    cause = _cause(error)
    if isinstance(cause, socket.gaierror):
        return "no host has this name"
    if isinstance(cause, ConnectionRefusedError):
        return "refused: nothing listens there"
    if _is_timeout(cause):
        return f"no answer within {timeout_s:g} s"
    if isinstance(cause, OSError) and cause.errno in _NO_NETWORK:
        return "no route to it from this machine"
    return None


def _cause(error: Exception) -> Exception:
    """Return the system's error, where PyMySQL wraps one."""
    return getattr(error, "original_exception", None) or error


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or "timed out" in str(error)


def tls_context(login: Login) -> ssl.SSLContext | None:
    """Return how TLS is to be used, or None where nobody asked for it.

    Raises: InstanceError for a CA that cannot be used.
    """
    if not (login.tls_required or login.ca):
        return None
    try:
        # Without any text it would trust every CA of the system; a blank is an error.
        context = ssl.create_default_context(cadata=(login.ca.read() or " ") if login.ca else None)
    except ssl.SSLError as error:
        raise InstanceError(
            f"{login.ca and login.ca.named}: no certificate in PEM format",
            fix="name the file of the CA that signed ProxySQL's certificate",
        ) from error
    # ProxySQL's own certificates carry no host name: the CA is what is verified.
    context.check_hostname = False
    if login.ca is None:
        context.verify_mode = ssl.CERT_NONE
    return context


def is_local(login: Login) -> bool:
    """Return whether nothing between us and the instance can listen in: TLS only costs time then.

    Elsewhere TLS is used as soon as the instance offers it.
    """
    return login.socket is not None or login.host in ("127.0.0.1", "::1", "localhost")


def why_not_answered(method: bytes) -> str | None:
    """Return why we do not log in by the method that the other end asks for, or None."""
    if method not in _WITHOUT_PROTECTION:
        return None
    return (
        f"the server asks for the password by {method.decode()}, which ProxySQL never does;"
        " the password was not sent"
    )


def why_no_key(login: Login) -> str | None:
    """Return why the password is not encrypted with a key that just came over the wire, or None.

    Whoever stands between can send a key of his own.
    """
    if is_local(login):
        return None
    return (
        "the instance asks for the password without TLS, under a key that cannot be verified;"
        " the password was not sent"
    )


def protection(connection: Any, login: Login) -> str:  # noqa: ANN401 - a socket of any kind
    """Return how an open connection is protected, for people."""
    version = getattr(connection, "version", lambda: None)()
    if version is None:
        return "no TLS: a local socket" if login.socket else "no TLS"
    return f"{version}, the certificate is {'verified' if login.ca else 'not verified'}"


def decoded(cell: bytes | str) -> str:
    """Return a cell as text. Bytes that are not UTF-8 stay, as surrogate escapes."""
    return cell if isinstance(cell, str) else cell.decode("utf-8", "surrogateescape")


def code_and_text(error: Exception) -> tuple[int, str]:
    """Return what an error of PyMySQL or of the system says; the code is 0 where it has none."""
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        return arguments[0], decoded(arguments[1]) if arguments[1] else ""
    return 0, str(error)


def client_options(path: str) -> dict[str, str]:
    """Return the options of the group `client` of an option file of the mysql client.

    Raises: OSError where the file cannot be read; ProxyctlError where it is no option file.
    """
    from pymysql.optionfile import Parser

    parser = Parser()
    try:
        with open(path, encoding="utf-8") as file:
            parser.read_file(file)
        if not parser.has_section("client"):
            return {}
        return {name: parser.get("client", name) for name in parser.options("client")}
    except OSError:
        raise
    except Exception as error:
        # The parser's own message repeats the line, which may hold the password.
        raise ProxyctlError(f"{path}: not an option file: {type(error).__name__}") from None
