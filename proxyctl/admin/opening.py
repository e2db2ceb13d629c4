"""Opens a connection to an admin interface; every known reason why it fails has its way out."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any

from proxyctl.admin.answers import NOT_UNDERSTOOD, PORTS, code_and_text
from proxyctl.admin.login import Login
from proxyctl.admin.transport import is_local, tls_context, why_no_key, why_not_answered
from proxyctl.errors import InstanceError

if TYPE_CHECKING:
    from pymysql.connections import Connection


def open_connection(login: Login) -> Connection[Any]:
    """Connect.

    Raises: InstanceError; each known reason with its way out.
    """
    import pymysql
    from pymysql import err
    from pymysql.connections import Connection
    from pymysql.constants import CLIENT, CR

    def _check(reason: str | None) -> None:
        if reason:
            raise err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, reason)

    class AdminConnection(Connection):
        """A connection that gives no password away, and survives any announced version.

        The admin port announces `mysql-server_version`; with `MariaDB-10.2.31` PyMySQL fails in
        the handshake, and the instance could not be managed at all.
        """

        server_version: str
        server_capabilities: int
        _read_timeout: float

        def connect(self, sock: socket.socket | None = None) -> None:
            """Connect. PyMySQL itself would leave a Unix socket open that could not connect."""
            if sock is None and login.socket:
                sock = _unix_socket(login.socket, login.connect_timeout_s)
                self._secure = True
            super().connect(sock)

        def _get_server_information(self) -> None:
            super()._get_server_information()  # type: ignore[misc]
            if tls is not None and not self.server_capabilities & CLIENT.SSL:
                # Not every PyMySQL refuses: some log in without TLS then.
                raise err.OperationalError(CR.CR_SSL_CONNECTION_ERROR, "it offers no TLS (SSL)")
            if not self.server_version.split(".", 1)[0].isdigit():
                self.server_version = f"8.0.0 ({self.server_version})"

        def _process_auth(self, plugin_name: bytes, *rest: Any) -> Any:  # noqa: ANN401 - PyMySQL's
            _check(why_not_answered(plugin_name))
            return super()._process_auth(plugin_name, *rest)  # type: ignore[misc]

        @property
        def server_public_key(self) -> bytes | None:
            """The key to send a whole password with, where there is no TLS."""
            return self._key

        @server_public_key.setter
        def server_public_key(self, key: bytes | None) -> None:
            if key is not None:
                _check(why_no_key(login))
            self._key = key

    tls = tls_context(login)
    try:
        connection = AdminConnection(
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
            cursorclass=pymysql.cursors.Cursor,
        )
        # The greeting comes at once or never; a statement may wait for somebody else's.
        connection._read_timeout = login.read_timeout_s
    except UnicodeDecodeError as error:
        raise _no_server(login) from error
    except (err.Error, OSError, UnicodeError) as error:
        raise _refused(login, error) from error
    except NOT_UNDERSTOOD as error:
        raise _no_server(login) from error
    return connection


def _unix_socket(path: str, timeout_s: int) -> socket.socket:
    opened = socket.socket(socket.AF_UNIX)
    try:
        opened.settimeout(timeout_s)
        opened.connect(path)
    except OSError:
        opened.close()
        raise
    return opened


def _denied_hint(login: Login, answer: str) -> str:
    """Return what may be wrong. Both ports of ProxySQL refuse an account in the same words."""
    if not answer.startswith("ProxySQL"):
        return f"no ProxySQL answered, but a MySQL server; {PORTS}"
    if login.socket is None and login.port == 6033:
        return PORTS
    return (
        "accounts are in admin-admin_credentials of the instance; a mysql_users row with the same"
        " name replaces such an account; the port for applications refuses all of them"
    )


def _no_server(login: Login) -> InstanceError:
    return InstanceError(f"{login.address} does not speak the MySQL protocol", hint=PORTS)


def _refused(login: Login, error: Exception) -> InstanceError:
    code, text = code_and_text(error)
    where = f"{login.user}@{login.address}"
    if isinstance(error, UnicodeError):
        return InstanceError(f"{login.host}: not a host name")
    if code == 1040 and "only connect locally" in text:
        return InstanceError(
            f"{where}: ProxySQL lets {login.user} in only from the machine it runs on",
            hint="add another account to admin-admin_credentials, such as radmin, and use that",
        )
    if code == 1045:
        return InstanceError(
            f"{where}: access denied: wrong user or password", hint=_denied_hint(login, text)
        )
    if "SSL" in text or "TLS" in text or isinstance(error, ssl.SSLError):
        return InstanceError(
            f"{where}: TLS failed: {text}",
            hint="mysql-have_ssl must be true, and --tls-ca the CA of the instance's certificate",
        )
    reason = text.split("(", 1)[-1].rstrip(")") if code == 2003 else text or type(error).__name__
    if "timed out" in text:
        reason = f"no answer within {login.connect_timeout_s} s"
    return InstanceError(
        f"cannot connect to {login.address}: {reason}",
        hint="is ProxySQL running, and is this its admin port (admin-mysql_ifaces, default 6032)?",
    )
