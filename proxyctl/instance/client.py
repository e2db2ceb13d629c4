"""The connection to an admin interface.

One statement a call, over the text protocol, without arguments: literals are made in `sql`. There
is no transaction: ProxySQL swallows BEGIN, and an open SQLite transaction wedges the interface for
every administrator. Answers stay bytes until they are decoded with surrogateescape, since one
latin1 byte in a comment must not break the connection.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from proxyctl.catalog import Version, parse_version
from proxyctl.catalog.releases import OLDEST
from proxyctl.errors import ConnectionLostError, InstanceError, StatementError, counted
from proxyctl.instance.connect import (
    LOST,
    NOT_UNDERSTOOD,
    PORTS,
    Login,
    code_and_text,
    decoded,
    open_connection,
    protection,
)
from proxyctl.state.sql import Statement, mask_literals

if TYPE_CHECKING:
    from pymysql.connections import Connection


_TRACED = 2000
"""How much of a statement is traced. Units: characters."""


class Patience(NamedTuple):
    """How long to wait for an answer, and what it means if none comes. Units: `seconds`."""

    seconds: float
    reason: str = "the admin interface is busy"
    fix: str = (
        "somebody may be reading a large statistics table, or has ProxySQL's files locked; try"
        " again"
    )


class AdminClient:
    """One open admin connection. Use as a context manager."""

    def __init__(self, login: Login, *, trace: Callable[[str], None] | None = None) -> None:
        self.login = login
        self._patience = Patience(login.read_timeout_s)
        self.version_text = ""
        self.info = ""
        """What the last answer without rows said beside OK."""
        self._trace = trace
        self._connection: Connection[Any] | None = None
        self._why_closed = ""
        self._sent: tuple[Statement, float] | None = None
        self.connect()

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """Where the instance is."""
        return self.login.address

    @property
    def name(self) -> str:
        """What the instance is called: by the files, or else its address."""
        return self.login.name or self.address

    @property
    def version(self) -> Version:
        """The ProxySQL version that the instance names."""
        return parse_version(self.version_text)

    def connect(self) -> None:
        """Open the connection, and check that it is an admin interface with full rights.

        Raises: InstanceError with a way out for every reason that is known.
        """
        self.close()
        self.tell(f"connect to {self.address} as {self.login.user}")
        self._connection = open_connection(self.login)
        self._why_closed = ""
        self.tell(protection(getattr(self._connection, "_sock", None), self.login))
        try:
            self._check_server()
        except BaseException:
            self.close()
            raise

    def _check_server(self) -> None:
        try:
            rows = self.query("SELECT @@version")
        except StatementError as error:
            # The port for applications asks a server, which may be down.
            answer = error.message.removeprefix(f"{self.address}: ")
            raise InstanceError(
                f"{self.address}: not an admin interface: {answer}", fix=PORTS
            ) from error
        self.version_text = str(rows[0][0]) if rows else ""
        self.tell(f"it reports version {self.version_text}")
        # A MySQL server, also one behind ProxySQL's port for applications, has versions as well.
        schema = self.query("SELECT DATABASE()")
        if not _is_version(self.version_text) or schema not in ([("admin",)], [("stats",)]):
            raise InstanceError(
                f"{self.address} does not answer as ProxySQL does (version {self.version_text!r})",
                fix=PORTS,
            )
        if self.version < OLDEST:
            raise InstanceError(
                f"{self.address}: ProxySQL {self.version} is older than {OLDEST},"
                " the oldest release that proxyctl works with",
                fix="upgrade ProxySQL, or leave this instance to its own tools",
            )
        if schema == [("stats",)]:
            raise InstanceError(
                f"{self.address}: the account {self.login.user} may only read statistics",
                fix="use an account of admin-admin_credentials, not of admin-stats_credentials",
            )

    def close(self) -> None:
        """Close the connection; errors of a broken one are ignored."""
        self._sent = None
        if self._connection is not None:
            connection, self._connection = self._connection, None
            # A broken connection is as closed as can be.
            with suppress(Exception):
                connection.close()

    @contextmanager
    def waiting(self, patience: Patience) -> Iterator[None]:
        """Wait no longer than this for each answer; past it the connection is closed."""
        before = self._patience
        self._wait_for(patience)
        try:
            yield
        finally:
            self._wait_for(before)

    def _wait_for(self, patience: Patience) -> None:
        self._patience = patience
        # Any: the types of PyMySQL know no timeout that changes.
        connection: Any = self._connection
        if connection is not None:
            connection._read_timeout = patience.seconds

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        """Return the rows of one statement as text. Raises: as `execute`."""
        return [
            tuple(None if cell is None else decoded(cell) for cell in row) for row in self.raw(sql)
        ]

    def raw(self, sql: str) -> list[tuple[bytes | None, ...]]:
        """Return the rows of one statement as bytes."""
        self.send(Statement(sql, lambda: mask_literals(sql)))
        return self.receive()[0]

    @staticmethod
    def number(cell: bytes | str | None) -> int:
        """Return a cell as a number; NULL and an empty text are 0."""
        return int(cell or 0)

    def execute(self, statement: Statement) -> int:
        """Run one statement that changes something; return the number of rows it changed.

        Raises: StatementError when ProxySQL refuses it, ConnectionLostError when it is not known
        whether it ran.
        """
        self.send(statement)
        return self.receive()[1]

    def send(self, statement: Statement) -> None:
        """Send a statement, whose answer `receive` returns; ProxySQL works on it meanwhile.

        Raises: as `execute`.
        """
        from pymysql.constants import COMMAND

        if self._sent is not None:
            self.receive()  # an outstanding answer must not be taken for this one's
        # Any: the types of PyMySQL leave out the two halves of a query.
        connection: Any = self._connection
        if connection is None:
            raise self._closed()
        self.tell(statement)
        self._sent = statement, time.monotonic()
        # Encoded here: not every PyMySQL lets surrogate escapes through.
        sql = statement.sql.encode("utf-8", "surrogateescape")
        with self._translating(statement):
            connection._execute_command(COMMAND.COM_QUERY, sql)

    def receive(self) -> tuple[list[tuple[bytes | None, ...]], int]:
        """Return the rows of the statement that was sent, and how many it read or changed.

        Raises: as `execute`.
        """
        connection: Any = self._connection
        if connection is None or self._sent is None:
            raise self._closed()
        (statement, began), self._sent = self._sent, None
        with self._translating(statement):
            count = connection._read_query_result()
        rows = list(connection._result.rows or ())
        # The text comes with its length in front.
        self.info = decoded((connection._result.message or b"")[1:])
        done = "read" if connection._result.description else "changed"
        took_ms = (time.monotonic() - began) * 1000
        self.tell(f"  {counted(count, 'row')} {done} in {took_ms:.1f} ms")
        return rows, count

    def _closed(self) -> ConnectionLostError:
        """Return the error for a connection that is closed, with why it was where that is known."""
        return ConnectionLostError(self._why_closed or f"{self.address}: the connection is closed")

    @property
    def is_traced(self) -> bool:
        """Whether `tell` has a listener."""
        return self._trace is not None

    def tell(self, what: str | Statement) -> None:
        """Write a line for --debug: a text without secrets, or a statement, masked if it is."""
        if self._trace:
            self._trace(what if isinstance(what, str) else _short(what.masked, _TRACED))

    @contextmanager
    def stream(self, sql: str) -> Iterator[Iterator[tuple[bytes | None, ...]]]:
        """Yield the rows of one statement as they arrive, without holding them.

        Leaving before the last row closes the connection: otherwise the rest would have to be read.
        Raises: as `query`.
        """
        from pymysql.cursors import SSCursor

        # Any: the types of PyMySQL leave out what is needed to give an answer up.
        if self._sent is not None:
            self.receive()
        connection: Any = self._connection
        if connection is None:
            raise self._closed()
        statement = Statement(sql, lambda: mask_literals(sql))
        self.tell(statement)
        cursor: Any = connection.cursor(SSCursor)
        is_done = False

        def rows() -> Iterator[tuple[bytes | None, ...]]:
            nonlocal is_done
            with self._translating(statement):
                while (row := cursor.fetchone()) is not None:
                    yield row
            is_done = True

        try:
            with self._translating(statement):
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
    def _translating(self, statement: Statement) -> Iterator[None]:
        from pymysql import err

        try:
            yield
        except (err.Error, OSError, ssl.SSLError) as error:
            raise self._translated(error, statement.masked) from error
        except NOT_UNDERSTOOD as error:
            self.close()  # the start of the next answer is unknown
            raise ConnectionLostError(
                f"{self.address}: the answer is not in the MySQL protocol",
                then=[_inside(statement.masked)],
                fix=PORTS,
            ) from error

    def _translated(self, error: Exception, masked: str) -> InstanceError:
        from pymysql import err

        code, text = code_and_text(error)
        is_answer = isinstance(error, err.MySQLError) and code not in (0, *LOST)
        if is_answer and "readonly database" in text:
            return StatementError(
                f"{self.address}: the admin interface is read-only (admin-read_only)",
                code=code,
                statement=masked,
                fix="to allow changes, send PROXYSQL READWRITE",
            )
        if is_answer:
            return StatementError(
                f"{self.address}: {_mask_answer(text)}",
                then=[_inside(masked)],
                code=code,
                statement=masked,
                fix=_fix(text),
            )
        self.close()
        if "timed out" in text:
            seconds, reason, fix = self._patience
            self._why_closed = f"{self.address}: no answer within {seconds:g} s: {reason}"
        else:
            self.tell(f"the connection was lost: {text or type(error).__name__}")
            self._why_closed = f"{self.address}: the connection was lost before the answer came"
            fix = "see in ProxySQL's log whether it stopped; when it runs, repeat the command"
        return ConnectionLostError(self._why_closed, then=[_inside(masked)], fix=fix)


def _is_version(text: str) -> bool:
    try:
        parse_version(text)
    except ValueError:
        return False
    return True


def _short(sql: str, limit: int = 300) -> str:
    return sql if len(sql) <= limit else f"{sql[:limit]} ... ({len(sql)} characters)"


def _inside(masked: str) -> str:
    return f"  in: {_short(masked)}"


def _mask_answer(text: str) -> str:
    """Mask the quoted parts of an SQLite message, which may repeat a literal of the statement."""
    before, near, _ = text.partition("near")
    return mask_literals(before) + (f"{near} ***" if near else "")


def _fix(text: str) -> str | None:
    if "database is locked" in text:
        return "another session holds an SQLite lock; try again"
    return None
