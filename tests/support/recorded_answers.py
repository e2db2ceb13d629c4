"""What an instance answers, each statement asked once: a run asks the same few ones without end."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Self

from pymysql.err import MySQLError

from proxyctl.sandbox import Sandbox
from tests.support.answering_server import OK, Answer, Cell, error, packets, result
from tests.support.servers import Instance

Told = tuple[list[bytes], list[list[Cell]]]
"""The names of columns, and rows."""


class RecordedAnswers:
    """The answers of a sandbox that nothing changes, once the `statements` are run.

    Use as a context manager. It may be asked from many threads.
    """

    def __init__(self, statements: Sequence[str] = ()) -> None:
        self.sandbox = Sandbox(variables={"mysql-monitor_enabled": "true"})
        self._statements = statements
        self._told: dict[bytes, Told | Answer] = {}
        self._answers: dict[bytes, Answer] = {}
        self._asking = Lock()

    def __enter__(self) -> Self:
        self.sandbox.start()
        self._instance = Instance(self.sandbox.host, self.sandbox.port)
        for statement in self._statements:
            self._instance.run(statement)
        return self

    def __exit__(self, *exc: object) -> None:
        self._instance.close()
        self.sandbox.close()

    def told(self, sql: bytes) -> Told | Answer:
        """Return a result set; whatever else it is, an error too, as its packets."""
        with self._asking:
            if sql not in self._told:
                self._told[sql] = self._asked(sql)
            return self._told[sql]

    def answer(self, sql: bytes) -> Answer:
        """Return the packets of the answer."""
        if sql not in self._answers:
            told = self.told(sql)
            self._answers[sql] = told if isinstance(told, bytes) else result(*told)
        return self._answers[sql]

    def _asked(self, sql: bytes) -> Told | Answer:
        try:
            reply = self._instance.run(sql.decode("utf-8", "surrogateescape"))
        except MySQLError as refused:
            return error(refused.args[0], str(refused.args[1]).encode())
        if not reply.columns:
            return packets([OK])
        return [name.encode() for name in reply.columns], [_as_sent(row) for row in reply.rows]


def _as_sent(cells: Sequence[str | None]) -> list[Cell]:
    return [None if cell is None else cell.encode("utf-8", "surrogateescape") for cell in cells]
