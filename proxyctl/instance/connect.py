"""Open a connection from a login; every known reason for a failure has its fix.

The other end must not get the password just by asking for it: an attacker who listens in, or takes
the port while ProxySQL is down, can answer like a server and ask for it in clear text.
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
"""Another client that reads a large digest table blocks the admin interface for seconds."""


PORTS = "the admin port is 6032 by default; 6033 is for applications"
"""The fix where no admin interface answers."""


LOST = (2006, 2013, 2014, 2055)
"""The codes of a broken connection."""


NOT_UNDERSTOOD = (AssertionError, IndexError, RuntimeError, ValueError, struct.error)
"""The exceptions, beside its own, that PyMySQL raises on packets that violate the protocol."""


_WITHOUT_PROTECTION = frozenset((b"mysql_clear_password", b"dialog", b"mysql_old_password"))
"""Methods that send the password in clear text, or nearly. ProxySQL's admin interface has none."""


@dataclass(frozen=True)
class Authority:
    """A CA: the name of its file in messages, and a function that returns its PEM text."""

    name: str
    read: Callable[[], str]


@dataclass(frozen=True)
class Login:
    """The address of an admin interface, and an account. `password` never appears in a repr."""

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
    """Connect. Raises: InstanceError with a fix for every known reason."""
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
    connection_class = _connection_class(login, needs_tls=tls is not None)
    connection: Connection[Any] = connection_class(
        host=login.host,
        port=login.port,
        unix_socket=login.socket,
        user=login.user,
        password=login.password.encode(),  # PyMySQL would encode text as latin1
        connect_timeout=login.connect_timeout_s,
        read_timeout=login.connect_timeout_s,
        write_timeout=login.read_timeout_s,
        charset="utf8mb4",
        use_unicode=False,
        autocommit=None,
        ssl=tls,
        ssl_disabled=tls is None and is_local(login),
    )
    # The greeting comes at once or never; a statement may wait for another client's.
    connection._read_timeout = login.read_timeout_s  # type: ignore[attr-defined]
    return connection


def _connection_class(login: Login, *, needs_tls: bool) -> type[Any]:
    """Return the class of connections; made on demand, because PyMySQL is slow to import."""
    from pymysql import err
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT, CR

    def check(reason: str | None) -> None:
        if reason:
            raise err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, reason)

    class AdminConnection(Connection):
        """A connection that protects the password, and accepts any announced version.

        The admin port announces `mysql-server_version`; with `MariaDB-10.2.31` PyMySQL fails in
        the handshake, and nobody could manage the instance.
        """

        server_version: str
        server_capabilities: int

        def connect(self, sock: socket.socket | None = None) -> None:
            """Connect. PyMySQL would not close a Unix socket that cannot connect."""
            if sock is None and login.socket:
                sock = _unix_socket(login.socket, login.connect_timeout_s)
                self._secure = True
            super().connect(sock)

        def _get_server_information(self) -> None:
            super()._get_server_information()  # type: ignore[misc]
            if needs_tls and not self.server_capabilities & CLIENT.SSL:
                # Some versions of PyMySQL would log in without TLS.
                raise err.OperationalError(CR.CR_SSL_CONNECTION_ERROR, "the instance offers no TLS")
            if not self.server_version.split(".", 1)[0].isdigit():
                self.server_version = f"8.0.0 ({self.server_version})"

        def _process_auth(self, plugin_name: bytes, *rest: Any) -> Any:  # noqa: ANN401 - PyMySQL's
            check(unsafe_method_reason(plugin_name))
            return super()._process_auth(plugin_name, *rest)  # type: ignore[misc]

        @property
        def server_public_key(self) -> bytes | None:
            """The key that encrypts the password where there is no TLS."""
            return self._key

        @server_public_key.setter
        def server_public_key(self, key: bytes | None) -> None:
            if key is not None:
                check(unsafe_key_reason(login))
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
    """Return the fix. Both ports of ProxySQL refuse an account in the same words."""
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
"""PyMySQL's code for a connection without a greeting."""
_MUTE = (
    "ProxySQL answers nobody while another program (a backup, sqlite3) has its proxysql.db locked:"
    f" `fuser -v proxysql.db` in the datadir lists who has it open; else {PORTS}"
)
_NO_NETWORK = (errno.EHOSTUNREACH, errno.ENETUNREACH)


def unreachable_reason(error: Exception, timeout_s: float) -> str | None:
    """Return why a host is unreachable, in words that fit every host; None for another error."""
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
    """Return the system's error if PyMySQL wraps it, else the error itself."""
    return getattr(error, "original_exception", None) or error


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, TimeoutError) or "timed out" in str(error)


def tls_context(login: Login) -> ssl.SSLContext | None:
    """Return the TLS context, or None if the login does not ask for TLS.

    Raises: InstanceError for an unusable CA.
    """
    if not (login.tls_required or login.ca):
        return None
    try:
        # With an empty text it would trust every CA of the system; a blank is an error.
        context = ssl.create_default_context(cadata=(login.ca.read() or " ") if login.ca else None)
    except ssl.SSLError as error:
        raise InstanceError(
            f"{login.ca and login.ca.name}: no certificate in PEM format",
            fix="name the file of the CA that signed ProxySQL's certificate",
        ) from error
    # ProxySQL's own certificates have no host name: only the CA is verified.
    context.check_hostname = False
    if login.ca is None:
        context.verify_mode = ssl.CERT_NONE
    return context


def is_local(login: Login) -> bool:
    """Return whether the connection stays on this machine, where TLS only costs time.

    To other machines a connection uses TLS whenever the instance offers it.
    """
    return login.socket is not None or login.host in ("127.0.0.1", "::1", "localhost")


def unsafe_method_reason(method: bytes) -> str | None:
    """Return why proxyctl refuses the login method that the other end asks for, or None."""
    if method not in _WITHOUT_PROTECTION:
        return None
    return (
        f"the server asks for the password by {method.decode()}, which ProxySQL never does;"
        " the password was not sent"
    )


def unsafe_key_reason(login: Login) -> str | None:
    """Return why the password is not sent under a key from an unverified connection, or None.

    An attacker in between can send a key of their own.
    """
    if is_local(login):
        return None
    return (
        "the instance asks for the password without TLS, under a key that cannot be verified;"
        " the password was not sent"
    )


def protection(connection: Any, login: Login) -> str:  # noqa: ANN401 - a socket of any kind
    """Return a description of the protection of an open connection."""
    version = getattr(connection, "version", lambda: None)()
    if version is None:
        return "no TLS: a local socket" if login.socket else "no TLS"
    return f"{version}, the certificate is {'verified' if login.ca else 'not verified'}"


def decoded(cell: bytes | str) -> str:
    """Return a cell as text. Bytes that are not UTF-8 become surrogate escapes."""
    return cell if isinstance(cell, str) else cell.decode("utf-8", "surrogateescape")


def code_and_text(error: Exception) -> tuple[int, str]:
    """Return the code (0 if it has none) and the text of an error of PyMySQL or of the system."""
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        return arguments[0], decoded(arguments[1]) if arguments[1] else ""
    return 0, str(error)


def client_options(path: str) -> dict[str, str]:
    """Return the options of the group `client` in an option file of the mysql client.

    Raises: OSError for an unreadable file; ProxyctlError for a file that is no option file.
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
    except Exception:
        # The parser's own message repeats the line, which may hold the password.
        raise ProxyctlError(
            f"{path}: not an option file of the mysql client",
            fix="begin it with the line [client], followed by lines such as user=NAME",
        ) from None
