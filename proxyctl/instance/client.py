"""The connection to an admin interface.

Each call sends one statement over the text protocol, without arguments: `rows.sql` makes the
literals. No call opens a transaction: ProxySQL swallows BEGIN, and an open SQLite transaction
blocks the interface for every administrator. Answers are decoded with surrogateescape: one latin1
byte in a comment must not break the connection.
"""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from proxyctl.catalog import Version, parse_version
from proxyctl.catalog.releases import OLDEST
from proxyctl.errors import ConnectionLostError, InstanceError, StatementError
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
from proxyctl.instance.interrupts import uninterrupted
from proxyctl.instance.sockets import ANSWER_LIMIT, TABLE_LIMIT, AnswerTooLargeError
from proxyctl.rows.sql import Statement, mask_literals
from proxyctl.text import counted, printable

if TYPE_CHECKING:
    from pymysql.connections import Connection


_LOGGER = logging.getLogger(__name__)

_ROWS_OF_A_LIMIT = 16
"""A stream has the time and the size of tables for so many rows, each of which holds a thousand."""

_LOGGED = 2000
"""The longest logged text of a statement. Units: characters."""


class Patience(NamedTuple):
    """The longest wait for an answer, and the error's reason and fix after it."""

    seconds: float
    reason: str = "the admin interface is busy"
    fix: str = (
        "try again: another session may be reading a large statistics table, or another program"
        " may have locked ProxySQL's files"
    )


class AdminClient:
    """One open admin connection. Use as a context manager."""

    def __init__(self, login: Login) -> None:
        self.login = login
        self._patience = Patience(login.read_timeout_s)
        self.version_text = ""
        self.info = ""
        """The message in the last OK answer."""
        self._delayed: list[tuple[str, tuple[object, ...]]] | None = None
        self._connection: Connection[Any] | None = None
        self._closing_reason = ""
        self._sent: tuple[Statement, float] | None = None
        self.connect()

    def __enter__(self) -> AdminClient:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def address(self) -> str:
        """The address of the instance."""
        return self.login.address

    @property
    def name(self) -> str:
        """The name of the instance in the files, or else its address."""
        return self.login.name or self.address

    @property
    def version(self) -> Version:
        """The ProxySQL version that the instance reports."""
        return parse_version(self.version_text)

    def connect(self) -> None:
        """Open the connection, and check that it is an admin interface with full rights.

        Raises: InstanceError with a fix for every known reason.
        """
        self.close()
        self._log("connect to %s as %s", self.address, self.login.user)
        self._connection = open_connection(self.login)
        self._closing_reason = ""
        self._log("%s", protection(getattr(self._connection, "_sock", None), self.login))
        try:
            self._check_server()
        except BaseException:
            self.close()
            raise

    def _check_server(self) -> None:
        try:
            rows = self.query("SELECT @@version")
        except StatementError as error:
            # The port for applications passes the query to a server, which may be down.
            answer = error.message.removeprefix(f"{self.address}: ")
            raise InstanceError(
                f"{self.address}: not an admin interface: {answer}", fix=PORTS
            ) from error
        self.version_text = str(rows[0][0]) if rows else ""
        self._log("it reports version %s", self.version_text)
        # A MySQL server, also behind ProxySQL's port for applications, reports a version as well.
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
        """Close the connection, even a broken one."""
        self._sent = None
        if self._connection is not None:
            connection, self._connection = self._connection, None
            # A broken connection needs no closing. An interrupt here would hide what was done.
            with suppress(Exception), uninterrupted():
                connection.close()

    @contextmanager
    def waiting(self, patience: Patience) -> Iterator[None]:
        """Limit the wait for each answer inside the block; a timeout closes the connection."""
        before, self._patience = self._patience, patience
        try:
            yield
        finally:
            self._patience = before

    def query(
        self, sql: str, *, limit: int = ANSWER_LIMIT, most_rows: int | None = None
    ) -> list[tuple[str | None, ...]]:
        """Return the rows of one statement as text. `limit`, `most_rows`, raises: as `raw`."""
        return [
            tuple(None if cell is None else decoded(cell) for cell in row)
            for row in self.raw(sql, limit=limit, most_rows=most_rows)
        ]

    def raw(
        self, sql: str, *, limit: int = ANSWER_LIMIT, most_rows: int | None = None
    ) -> list[tuple[bytes | None, ...]]:
        """Return the rows of one statement as bytes.

        Units: `limit` bytes of the answer. `most_rows`: of one whose limit is large.
        Raises: as `execute`.
        """
        self.send(Statement(sql, lambda: mask_literals(sql)), limit=limit)
        return self.receive(most_rows=most_rows)[0]

    @staticmethod
    def number(cell: bytes | str | None) -> int:
        """Return a cell as a number; NULL and an empty text are 0."""
        return int(cell or 0)

    def execute(self, statement: Statement) -> int:
        """Run one statement that changes something; return the number of changed rows.

        Raises: StatementError when ProxySQL refuses it, ConnectionLostError when nobody knows
        whether it ran.
        """
        self.send(statement)
        return self.receive()[1]

    def send(self, statement: Statement, *, limit: int = ANSWER_LIMIT) -> None:
        """Send a statement without waiting for its answer, which `receive` returns.

        Units: `limit` bytes of the answer. Raises: as `execute`.
        """
        from pymysql.constants import COMMAND

        if self._sent is not None:
            self.receive()  # the answer to an earlier statement
        # Any: PyMySQL's types lack the two halves of a query.
        connection: Any = self._connection
        if connection is None:
            raise self._closed()
        self._log_statement(statement)
        self._sent = statement, time.monotonic()
        # Not every PyMySQL encodes surrogate escapes.
        sql = statement.sql.encode("utf-8", "surrogateescape")
        with self._translating(statement):
            connection._sock.begin(self._patience.seconds, limit=limit)
            connection._execute_command(COMMAND.COM_QUERY, sql)

    def receive(
        self, *, most_rows: int | None = None
    ) -> tuple[list[tuple[bytes | None, ...]], int]:
        """Return the rows of the sent statement, and the number of rows it read or changed.

        `most_rows`: the most that an honest answer has. Raises: as `execute`.
        """
        connection: Any = self._connection
        if connection is None or self._sent is None:
            raise self._closed()
        (statement, began), self._sent = self._sent, None
        with self._translating(statement):
            count = int(connection._read_query_result(unbuffered=most_rows is not None))
            result = connection._result
            if most_rows is None or not result.unbuffered_active:
                rows = list(result.rows or ())
            else:
                rows = _some_rows(result, most_rows)
                count = len(rows)
        # The message begins with its length.
        self.info = decoded((result.message or b"")[1:])
        done = "read" if result.description else "changed"
        took_ms = (time.monotonic() - began) * 1000
        self._log("  %s %s in %.1f ms", counted(count, "row"), done, took_ms)
        return rows, count

    def _closed(self) -> ConnectionLostError:
        """Return the error for a closed connection, with the reason if it is known."""
        reason = self._closing_reason or f"{self.address}: the connection is closed"
        return ConnectionLostError(reason)

    def _log(self, text: str, *values: object) -> None:
        """Log a text and its values, which hold no secret, as soon as no `logging_later` runs."""
        if self._delayed is not None:
            self._delayed.append((text, values))
        elif _LOGGER.isEnabledFor(logging.DEBUG):
            # Any handler can write it: no part of a value begins a line, or is no UTF-8.
            _LOGGER.debug(
                text, *(printable(value) if isinstance(value, str) else value for value in values)
            )

    def _log_statement(self, statement: Statement) -> None:
        """Log a statement with its secrets masked: any handler may keep what a record holds."""
        if _LOGGER.isEnabledFor(logging.DEBUG):
            self._log("%s", _short(statement.masked, _LOGGED))

    @contextmanager
    def logging_later(self) -> Iterator[None]:
        """Log what the block does after it: a handler that writes to a stopped terminal blocks."""
        self._delayed = []
        try:
            yield
        finally:
            delayed, self._delayed = self._delayed, None
            for text, values in delayed:
                self._log(text, *values)

    @contextmanager
    def stream(self, sql: str) -> Iterator[Iterator[tuple[bytes | None, ...]]]:
        """Yield the rows of one statement as they arrive, without holding them.

        Leaving before the last row closes the connection, instead of reading the remaining rows.
        Raises: as `query`.
        """
        from pymysql.cursors import SSCursor

        # Any: PyMySQL's types lack the attributes that abandon an answer.
        if self._sent is not None:
            self.receive()
        connection: Any = self._connection
        if connection is None:
            raise self._closed()
        statement = Statement(sql, lambda: mask_literals(sql))
        self._log_statement(statement)
        cursor: Any = connection.cursor(SSCursor)
        begin = partial(connection._sock.begin, self._patience.seconds, limit=TABLE_LIMIT)
        is_done = False

        def rows() -> Iterator[tuple[bytes | None, ...]]:
            nonlocal is_done
            count = 0
            with self._translating(statement):
                while (row := cursor.fetchone()) is not None:
                    yield row
                    count += 1
                    if count % _ROWS_OF_A_LIMIT == 0:
                        begin()
            is_done = True

        try:
            with self._translating(statement):
                begin()
                cursor.execute(sql)
            yield rows()
        finally:
            if not is_done:
                # Otherwise the cursor and the result would read to the end of the answer.
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
        except KeyboardInterrupt:
            self.close()  # PyMySQL has dropped the socket, or an answer is on its way
            raise

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
        if isinstance(error.__context__, AnswerTooLargeError):
            self._closing_reason = f"{self.address}: {error.__context__}"
            fix = "check whether this is a ProxySQL, and what its statistics contain"
        elif "timed out" in text:
            seconds, reason, fix = self._patience
            self._closing_reason = f"{self.address}: no answer within {seconds:g} s: {reason}"
        else:
            self._log("the connection was lost: %s", text or type(error).__name__)
            self._closing_reason = f"{self.address}: the connection was lost before the answer came"
            fix = (
                "check ProxySQL's log to see whether it stopped; once it is running, repeat the"
                " command"
            )
        return ConnectionLostError(self._closing_reason, then=[_inside(masked)], fix=fix)


def _some_rows(result: Any, most: int) -> list[tuple[bytes | None, ...]]:  # noqa: ANN401 - PyMySQL's
    """Return the rows of an unbuffered result. Raises: RuntimeError if there are more."""
    rows: list[tuple[bytes | None, ...]] = []
    try:
        while (row := result._read_rowdata_packet_unbuffered()) is not None:
            if len(rows) == most:
                raise RuntimeError("more rows than were asked for")
            rows.append(row)
    except BaseException:
        result.unbuffered_active = False  # else its end would read the other rows
        raise
    return rows


_PAUSES_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)

_RowT = TypeVar("_RowT")


def retried(query: Callable[[], list[_RowT]]) -> list[_RowT]:
    """Repeat a SELECT that always has a row until it answers one; return [] if it never does."""
    for pause in _PAUSES_S:
        if answer := query():
            return answer
        time.sleep(pause)
    return query()


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
