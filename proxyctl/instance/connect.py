"""Open a connection from a login; every known reason for a failure has its fix."""

from __future__ import annotations

import errno
import socket
import ssl
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxyctl.errors import InstanceError, ProxyctlError
from proxyctl.instance.authentication import PasswordAskedError, Trust, protected_connection
from proxyctl.instance.sockets import AnswerTooLargeError, connected
from proxyctl.instance.tls import Authority, unverified, verified
from proxyctl.text import os_reason

if TYPE_CHECKING:
    from pymysql.connections import Connection


CONNECT_TIMEOUT_S = 10

READ_TIMEOUT_S = 60.0
"""Another client that reads a large digest table blocks the admin interface for seconds."""

PORTS = "use the admin port: 6032 by default; 6033 is for applications"
"""The fix where no admin interface answers."""

LOST = (2006, 2013, 2014, 2055)
"""The codes of a broken connection."""

NOT_UNDERSTOOD = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    IndexError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)
"""The exceptions other than its own that PyMySQL raises on packets that violate the protocol."""


@dataclass(frozen=True)
class Login:
    """The address of an admin interface, and an account. `password` never appears in a repr."""

    host: str = "127.0.0.1"
    """The host name or address."""
    port: int = 6032
    """The port of the admin interface."""
    user: str = "admin"
    """The admin account."""
    password: str = ""
    """Its password."""
    password_source: str = ""
    """Where the password comes from, for messages; '' if unknown."""
    name: str = ""
    """The name of the instance in the files; results and messages use it."""
    socket: str | None = None
    """The path of a Unix socket, instead of host and port."""
    ca: Authority | None = None
    """The authority that has to have signed the certificate; with it, TLS is used."""
    tls_required: bool = False
    """Whether to refuse a connection without TLS."""
    verifies_identity: bool = False
    """Whether the certificate also has to name the host."""
    certificate_name: str = ""
    """The name that the certificate then has to have; '' for the host."""
    connect_timeout_s: int = CONNECT_TIMEOUT_S
    """The limit for a connection. Units: seconds."""
    read_timeout_s: float = READ_TIMEOUT_S
    """The limit for one answer. Units: seconds."""

    def __repr__(self) -> str:
        return f"Login({self.user}@{self.address})"

    @property
    def address(self) -> str:
        """`host:port`, or the path of the socket."""
        return self.socket or f"{self.host}:{self.port}"


def open_connection(login: Login) -> Connection[Any]:
    """Connect. Raises: InstanceError with a fix for every known reason."""
    from pymysql import err

    tls = None
    if login.ca:
        tls = verified(login.ca, names_host=login.verifies_identity)
    elif login.tls_required:
        tls = unverified()
    try:
        return _opened(login, tls)
    except PasswordAskedError as error:
        raise InstanceError(
            f"{login.address}: {error}",
            fix="log in once with --tls-ca if the password is a hash in admin-admin_credentials;"
            " otherwise check what is listening there: ProxySQL does not ask for the password of"
            f" any other account; {PORTS}",
        ) from error
    except UnicodeDecodeError as error:
        raise _no_server(login) from error
    except (err.Error, OSError, UnicodeError) as error:
        raise _refused(login, error) from error
    except NOT_UNDERSTOOD as error:
        raise _no_server(login) from error


def _opened(login: Login, tls: ssl.SSLContext | None) -> Connection[Any]:
    # Any: PyMySQL's types lack what `protected_connection` takes.
    connection_class: Any = protected_connection()
    connection: Connection[Any] = connection_class(
        trust=Trust(login.ca),
        needs_tls=tls is not None,
        statement_s=login.read_timeout_s,
        host=login.certificate_name or login.host,
        user=login.user,
        password=login.password.encode(),  # PyMySQL would encode text as latin1
        charset="utf8mb4",
        use_unicode=False,
        autocommit=None,
        ssl=tls,
        ssl_disabled=tls is None and is_local(login),
    )
    connection.connect(connected(login.host, login.port, login.socket, login.connect_timeout_s))
    return connection


def _denied(login: Login, answer: str) -> InstanceError:
    """Return the error. Both ports of ProxySQL refuse an account in the same words."""
    message = f"{login.user}@{login.address}: access denied: wrong user or password"
    if not answer.startswith("ProxySQL"):
        return InstanceError(message, then=["a MySQL server answered, not ProxySQL"], fix=PORTS)
    if login.socket is None and login.port == 6033:
        return InstanceError(message, fix=PORTS)
    source = f"it came from {login.password_source}; " if login.password_source else ""
    return InstanceError(
        message,
        then=[
            f"  password: {source}admin-admin_credentials of the instance has the accounts",
            "  port: the one for applications (6033 by default) refuses all of these accounts",
            "  mysql_users: a row with the same name replaces such an account",
        ],
        fix="check the password, the port and mysql_users, in this order",
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
        return _denied(login, text)
    if "SSL" in text or "TLS" in text or isinstance(error, ssl.SSLError):
        return InstanceError(
            f"{where}: TLS failed: {text}",
            fix="set mysql-have_ssl to true, and name the CA of its certificate with --tls-ca",
        )
    reason, fix = _why_not_reached(login, error)
    return InstanceError(f"cannot connect to {login.address}: {reason}", fix=fix)


def _why_not_reached(login: Login, error: Exception) -> tuple[str, str]:
    """Return why there is no connection, and the fix."""
    cause = _cause(error)
    reason = unreachable_reason(error, login.connect_timeout_s)
    listens = (
        "check that ProxySQL is running, and its admin port (admin-mysql_ifaces, default 6032)"
    )
    if isinstance(cause, socket.gaierror):
        return str(reason), "check the spelling of the host, and the DNS server"
    if isinstance(cause, FileNotFoundError):
        return "no such socket", "use the socket that admin-mysql_ifaces names"
    if _is_timeout(cause) and code_and_text(error)[0] == _NO_GREETING:
        return str(reason), _MUTE
    if _is_timeout(cause):
        return str(reason), f"check the firewalls in between; {listens}"
    if isinstance(cause, OSError) and cause.errno in _NO_NETWORK:
        return str(reason), "check the address and the routes of this machine"
    if isinstance(error.__context__, AnswerTooLargeError):
        return str(error.__context__), PORTS
    if isinstance(cause, ConnectionResetError) or code_and_text(cause)[0] in LOST:
        return "the connection was closed before ProxySQL answered", listens
    if isinstance(cause, OSError) and cause.strerror:
        return reason or os_reason(cause), listens
    return code_and_text(cause)[1] or type(cause).__name__, listens


_NO_GREETING = 2013
"""PyMySQL's code for a connection without a greeting."""
_MUTE = (
    f"{PORTS}; if it is the admin port, use `fuser -v proxysql.db` in the datadir to see which"
    " other program (a backup, sqlite3) has locked the file: ProxySQL does not answer until it is"
    " unlocked"
)
_NO_NETWORK = (errno.EHOSTUNREACH, errno.ENETUNREACH)


def unreachable_reason(error: Exception, timeout_s: float) -> str | None:
    """Return why a host is unreachable, in words that fit every host; None for another error."""
    cause = _cause(error)
    if isinstance(cause, socket.gaierror):
        return "no host has this name"
    if isinstance(cause, ConnectionRefusedError):
        return "refused: nothing is listening there"
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


def is_local(login: Login) -> bool:
    """Return whether the connection stays on this machine, where TLS only costs time.

    To other machines a connection uses TLS whenever the instance offers it.
    """
    return login.socket is not None or login.host in ("127.0.0.1", "::1", "localhost")


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


def client_options(text: str, path: str) -> dict[str, str]:
    """Return the options of the group `client` in an option file of the mysql client.

    Raises: ProxyctlError for a text that is no option file.
    """
    from pymysql.optionfile import Parser

    parser = Parser()
    try:
        parser.read_string(text)
        if not parser.has_section("client"):
            return {}
        return {name: parser.get("client", name) for name in parser.options("client")}
    except Exception:
        # The parser's own message repeats the line, which may hold the password.
        raise ProxyctlError(
            f"{path}: not an option file of the mysql client",
            fix="begin it with the line [client], followed by lines such as user=NAME",
        ) from None
