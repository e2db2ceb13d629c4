"""The connection to an admin interface.

One statement a call, over the text protocol, without arguments: literals are made in `sql`. There
is no transaction: ProxySQL swallows BEGIN, and an open SQLite transaction wedges the interface for
every administrator. Answers stay bytes until they are decoded with surrogateescape, since one
latin1 byte in a comment must not break the connection.
"""

from __future__ import annotations

import re
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxyctl.admin.transport import (
    is_local,
    protection,
    tls_context,
    why_no_key,
    why_not_answered,
)
from proxyctl.catalog import Version, parse_version
from proxyctl.errors import ConnectionLostError, InstanceError, StatementError, counted
from proxyctl.sql import Statement, mask_literals

if TYPE_CHECKING:
    from pymysql.connections import Connection

CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 60.0
"""Somebody's read of a large digest table holds the whole admin interface for seconds."""

_TRACED = 2000
"""How much of a statement is traced. Units: characters."""

_LOST = (2006, 2013, 2014, 2055)
_NOT_UNDERSTOOD = (
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    RuntimeError,
    TypeError,
    ValueError,
    struct.error,
)
"""What PyMySQL raises, beside its own errors, over packets that are none of the protocol."""
_NUMBER = re.compile(r"-?[0-9]{1,20}")
_PORTS = "the admin port is 6032 by default; 6033 is for applications"


@dataclass(frozen=True)
class Login:
    """Where an admin interface is, and who we are there. `password` never appears in a repr."""

    host: str = "127.0.0.1"
    port: int = 6032
    user: str = "admin"
    password: str = ""
    name: str = ""
    socket: str | None = None
    tls_ca: str | None = None
    tls_required: bool = False
    connect_timeout_s: int = CONNECT_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S

    def __repr__(self) -> str:
        return f"Login({self.user}@{self.address})"

    @property
    def address(self) -> str:
        """`host:port`, or the path of the socket."""
        return self.socket or f"{self.host}:{self.port}"


class AdminClient:
    """One open admin connection. Use as a context manager."""

    def __init__(self, login: Login, *, trace: Callable[[str], None] | None = None) -> None:
        self.login = login
        self.version_text = ""
        self._trace = trace
        self._connection: Connection[Any] | None = None
        self.connect()

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def beside(self, login: Login) -> AdminClient:
        """Return a connection to another instance, of which the same people are told.

        Raises: InstanceError.
        """
        return AdminClient(login, trace=self._trace)

    @property
    def address(self) -> str:
        """Where the instance is."""
        return self.login.address

    @property
    def version(self) -> Version:
        """The ProxySQL version that the instance names."""
        return parse_version(self.version_text)

    def connect(self) -> None:
        """Open the connection, and find out whether it is a ProxySQL that lets us administrate.

        Raises: InstanceError with a way out for every reason that is known.
        """
        self.close()
        self.tell(f"connect to {self.address} as {self.login.user}")
        self._connection = _open(self.login)
        self.tell(protection(getattr(self._connection, "_sock", None), self.login))
        try:
            self._look_who_answers()
        except BaseException:
            self.close()
            raise

    def _look_who_answers(self) -> None:
        try:
            rows = self.query("SELECT @@version", width=1)
        except StatementError as error:
            # The port for applications asks a server, which may be down.
            answer = error.message.partition("\n")[0]
            raise InstanceError(f"{answer}; no admin interface says that", hint=_PORTS) from error
        self.version_text = str(rows[0][0]) if rows else ""
        self.tell(f"it says that it is version {self.version_text}")
        # A MySQL server, also one behind ProxySQL's port for applications, has versions as well.
        schema = self.query("SELECT DATABASE()")
        if not _is_version(self.version_text) or schema not in ([("admin",)], [("stats",)]):
            raise InstanceError(
                f"{self.address} does not answer as ProxySQL does (version {self.version_text!r})",
                hint=_PORTS,
            )
        if schema == [("stats",)]:
            raise InstanceError(
                f"{self.address}: the account {self.login.user} may only read statistics",
                hint="use an account of admin-admin_credentials, not of admin-stats_credentials",
            )

    def close(self) -> None:
        """Close the connection, quietly if it is broken."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            # A broken connection is as closed as can be.
            with suppress(Exception):
                connection.close()

    def query(self, sql: str, *, width: int | None = None) -> list[tuple[str | None, ...]]:
        """Return the rows of one statement as text.

        `width`: how many cells a row has to have. Raises: InstanceError where one has not, and as
        `execute`.
        """
        rows = self.raw(sql)
        if width is not None:
            self.check_width(rows, width, sql)
        return [tuple(None if cell is None else _text(cell) for cell in row) for row in rows]

    def raw(self, sql: str) -> list[tuple[bytes | None, ...]]:
        """Return the rows of one statement as bytes."""
        return self._run(sql, lambda: mask_literals(sql))[0]

    def check_width(self, rows: Sequence[tuple[bytes | None, ...]], width: int, sql: str) -> None:
        """Raise InstanceError where a row of the answer has not as many cells as were asked for."""
        if not {*map(len, rows)} <= {width}:
            raise self.strange(f"rows that are not of {width} columns", sql)

    def number(self, cell: bytes | str | None) -> int:
        """Return a cell as a number; NULL and an empty text are 0.

        Raises: InstanceError for any other text.
        """
        text = _text(cell or "")
        if not text:
            return 0
        if not _NUMBER.fullmatch(text):
            raise self.strange(f"{text[:40]!r} instead of a number")
        return int(text)

    def strange(self, what: str, sql: str | None = None) -> InstanceError:
        """Return the error for an answer that no ProxySQL gives."""
        statement = "" if sql is None else f"\n  in: {_short(mask_literals(sql))}"
        return InstanceError(
            f"{self.address}: it answers as no ProxySQL does: {what}{statement}", hint=_PORTS
        )

    def execute(self, statement: Statement) -> int:
        """Run one statement that changes something; return the number of rows it changed.

        Raises: StatementError when ProxySQL refuses it, ConnectionLostError when it is not known
        whether it ran.
        """
        return self._run(statement.sql, lambda: statement.masked)[1]

    def _run(
        self, sql: str, masked: Callable[[], str]
    ) -> tuple[list[tuple[bytes | None, ...]], int]:
        if self._connection is None:
            raise ConnectionLostError(f"{self.address}: the connection is closed")
        self._tell_statement(masked)
        began = time.monotonic()
        with self._translating(masked), self._connection.cursor() as cursor:
            # Encoded here: not every PyMySQL lets surrogate escapes through. It takes bytes as they
            # are, which its types do not say.
            count = cursor.execute(sql.encode("utf-8", "surrogateescape"))
            rows = list(cursor.fetchall()) if cursor.description else []
            done = "read" if cursor.description else "changed"
        took_ms = (time.monotonic() - began) * 1000
        self.tell(f"  {counted(count, 'row')} {done} in {took_ms:.1f} ms")
        return rows, count

    @property
    def is_traced(self) -> bool:
        """Whether anybody listens to `tell`."""
        return self._trace is not None

    def tell(self, text: str) -> None:
        """Tell --debug what is worth knowing in a ticket. It must hold no secret."""
        if self._trace:
            self._trace(text)

    def _tell_statement(self, masked: Callable[[], str]) -> None:
        """Tell which statement is sent. What may be shown of it is made only if somebody looks."""
        if self._trace:
            self._trace(_short(masked(), _TRACED))

    @contextmanager
    def stream(
        self, sql: str, *, width: int | None = None
    ) -> Iterator[Iterator[tuple[bytes | None, ...]]]:
        """Yield the rows of one statement as they arrive, without holding them.

        Who leaves before the last one has closed the connection: the rest would have to be read
        first. `width` and errors: as `query`.
        """
        from pymysql.cursors import SSCursor

        # Any: the types of PyMySQL leave out what is needed to give an answer up.
        connection: Any = self._connection
        if connection is None:
            raise ConnectionLostError(f"{self.address}: the connection is closed")
        self._tell_statement(lambda: mask_literals(sql))
        cursor: Any = connection.cursor(SSCursor)
        is_done = False

        def rows() -> Iterator[tuple[bytes | None, ...]]:
            nonlocal is_done
            with self._translating(lambda: mask_literals(sql)):
                while (row := cursor.fetchone()) is not None:
                    if width is not None:
                        self.check_width([row], width, sql)
                    yield row
            is_done = True

        try:
            with self._translating(lambda: mask_literals(sql)):
                cursor.execute(sql)
            yield rows()
        finally:
            if not is_done:
                # Cursor and answer would read to the end: there must be none.
                if cursor._result is not None:
                    cursor._result.unbuffered_active = False
                self.close()
            cursor.connection = None

    @contextmanager
    def _translating(self, masked: Callable[[], str]) -> Iterator[None]:
        from pymysql import err

        try:
            yield
        except (err.Error, OSError, ssl.SSLError) as error:
            raise self._translated(error, masked()) from error
        except _NOT_UNDERSTOOD as error:
            self.close()  # where the next answer begins is not known
            raise ConnectionLostError(
                f"{self.address}: its answer is not of the MySQL protocol"
                f"\n  in: {_short(masked())}",
                hint=_PORTS,
            ) from error

    def _translated(self, error: Exception, masked: str) -> InstanceError:
        from pymysql import err

        code, text = _code_and_text(error)
        is_answer = isinstance(error, err.MySQLError) and code not in (0, *_LOST)
        if is_answer and "readonly database" in text:
            return StatementError(
                f"{self.address}: the admin interface is read-only (admin-read_only)",
                code=code,
                statement=masked,
                hint="PROXYSQL READWRITE allows changes again",
            )
        if is_answer:
            return StatementError(
                f"{self.address}: {_mask_answer(text)}\n  in: {_short(masked)}",
                code=code,
                statement=masked,
                hint=_hint(text),
            )
        self.close()
        if "timed out" in text:
            return ConnectionLostError(
                f"{self.address}: no answer within {self.login.read_timeout_s:g} s:"
                f" the admin interface is busy\n  in: {_short(masked)}",
                hint="somebody may be reading a large statistics table; try again",
            )
        return ConnectionLostError(
            f"{self.address}: the connection was lost ({text or type(error).__name__})"
            f"\n  in: {_short(masked)}",
            hint="did ProxySQL stop? Its log says so; when it is there again, run this again",
        )


def _is_version(text: str) -> bool:
    try:
        parse_version(text)
    except ValueError:
        return False
    return True


def _text(cell: bytes | str) -> str:
    return cell if isinstance(cell, str) else cell.decode("utf-8", "surrogateescape")


def _short(sql: str, limit: int = 300) -> str:
    return sql if len(sql) <= limit else f"{sql[:limit]} ... ({len(sql)} characters)"


def _mask_answer(text: str) -> str:
    """Mask the quoted parts of an SQLite message, which may repeat a literal of the statement."""
    before, near, _ = text.partition("near")
    return mask_literals(before) + (f"{near} ***" if near else "")


def _code_and_text(error: Exception) -> tuple[int, str]:
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        return arguments[0], _text(arguments[1]) if arguments[1] else ""
    return 0, str(error)


def _hint(text: str) -> str | None:
    if "database is locked" in text:
        return "another session holds an SQLite lock; try again"
    return None


def _open(login: Login) -> Connection[Any]:
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
    except _NOT_UNDERSTOOD as error:
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
        return f"no ProxySQL answered, but a MySQL server; {_PORTS}"
    if login.socket is None and login.port == 6033:
        return _PORTS
    return (
        "accounts are in admin-admin_credentials of the instance; a mysql_users row with the same"
        " name replaces such an account; the port for applications refuses all of them"
    )


def _no_server(login: Login) -> InstanceError:
    return InstanceError(f"{login.address} does not speak the MySQL protocol", hint=_PORTS)


def _refused(login: Login, error: Exception) -> InstanceError:
    code, text = _code_and_text(error)
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
