"""An application under constant load, which records the node of every read and write."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

import pymysql

from tests.real.containers.galera import Node

APP = ("app", "s3cret-of-app")


def prepare(node: Node) -> None:
    """Create the application's account, its table, and a function that returns a query's node.

    ProxySQL pins the backend connection of a query with an @, which would never change its node.
    """
    user, password = APP
    node.sql("CREATE DATABASE IF NOT EXISTS app")
    node.sql(f"CREATE USER IF NOT EXISTS {user}@'%' IDENTIFIED BY '{password}'")
    node.sql(f"GRANT ALL ON app.* TO {user}@'%'")
    node.sql(
        "CREATE TABLE IF NOT EXISTS app.written"
        " (id INT PRIMARY KEY AUTO_INCREMENT, node VARCHAR(60)) ENGINE=InnoDB"
    )
    node.sql("DROP FUNCTION IF EXISTS app.node")
    node.sql(
        "CREATE FUNCTION app.node() RETURNS VARCHAR(60) CHARSET utf8mb4 NOT DETERMINISTIC"
        " READS SQL DATA RETURN @@hostname"
    )


def connected(port: int) -> pymysql.Connection:
    """Return a connection of the application through ProxySQL."""
    user, password = APP
    return pymysql.connect(
        host="127.0.0.1",
        port=port,
        user=user,
        password=password,
        database="app",
        autocommit=True,
        read_timeout=60,
    )


def ask(port: int, sql: str) -> list[tuple[object, ...]]:
    """Run one statement through ProxySQL on a connection of its own."""
    connection = connected(port)
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())
    finally:
        connection.close()


@dataclass
class Traffic:
    """Readers and a writer that never pause. `reads` counts by the node that answered.

    `lifetime`: the number of queries after which a client reconnects, as connection pools do.
    Without it, a client that inserts keeps its first node: ProxySQL holds the connection for some
    queries after each INSERT that generated an id.
    """

    port: int
    lifetime: int | None = None
    reads: Counter[str] = field(default_factory=Counter)
    writes: int = 0
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        works = (self._read, self._read, self._write)
        self._threads = [threading.Thread(target=self._run, args=(work,)) for work in works]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def flows(self, more: int = 20) -> None:
        """Wait until that many more reads and writes have ended, with or without an error."""
        wanted = self._count() + more
        while self._count() < wanted:
            time.sleep(0.05)

    def _count(self) -> int:
        return min(self.reads.total(), self.writes) + len(self.errors)

    def _run(self, work: Callable[[pymysql.Connection], None]) -> None:
        connection, queries = None, 0
        while not self._stop.is_set():
            try:
                if connection is not None and queries == self.lifetime:
                    connection.close()
                    connection = None
                if connection is None:
                    connection, queries = connected(self.port), 0
                work(connection)
                queries += 1
            except (pymysql.err.MySQLError, OSError) as error:
                self.errors.append(f"{work.__name__.strip('_')}: {error}")
                connection = None
            time.sleep(0.005)
        if connection is not None:
            connection.close()

    def _read(self, connection: pymysql.Connection) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT node()")
            self.reads[str(cursor.fetchall()[0][0])] += 1

    def _write(self, connection: pymysql.Connection) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO written (node) VALUES (node())")
        self.writes += 1


def written_on(node: Node) -> dict[str, int]:
    """Return how many rows each node wrote, as read from one node."""
    return {
        str(name): int(str(count))
        for name, count in node.sql("SELECT node, count(*) FROM app.written GROUP BY node")
    }
