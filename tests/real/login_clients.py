"""Clients that log in to ProxySQL without a pause, and count what fails."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Self

import pymysql

from tests.support.servers.instances import ProxySQL
from tests.support.waiting import until

_PAUSE_S = 0.01


class Application:
    """Logs in, asks for a row and closes, again and again, until the context ends.

    One more session stays open and asks through every change, until `log_in_with` renews it.
    """

    def __init__(self, server: ProxySQL, user: str, password: str) -> None:
        self._server = server
        self._account = (user, password)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.logins = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self.goes_on()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def log_in_with(self, user: str, password: str) -> None:
        """Use another account from now on, in a new session, as a deployment does."""
        self._account = (user, password)
        self.goes_on()

    def goes_on(self) -> None:
        """Wait for twenty more logins, or a failure."""
        wanted = self.logins + 20
        until(lambda: self.logins > wanted or bool(self.failures), what="the client stands still")

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                account = self._account
                with closing(self._session(account)) as lasting:
                    while not self._stop.is_set() and self._account == account:
                        with closing(self._session(account)) as session:
                            _ask(session)
                        self.logins += 1
                        _ask(lasting)
                        self._stop.wait(_PAUSE_S)
        except pymysql.MySQLError as error:
            self.failures.append(str(error))

    def _session(self, account: tuple[str, str]) -> pymysql.Connection:
        user, password = account
        return pymysql.connect(
            host="127.0.0.1",
            port=self._server.traffic_port,
            user=user,
            password=password,
            read_timeout=20,
            ssl_disabled=True,
        )


def _ask(session: pymysql.Connection) -> None:
    """Ask in a transaction: the session holds a connection to the server meanwhile."""
    with session.cursor() as cursor:
        for query in ("BEGIN", "SELECT 1", "COMMIT"):
            cursor.execute(query)


def refused(server: ProxySQL) -> int:
    """Return how many logins a ProxySQL has refused since its start, at both of its ports."""
    [(count,)] = server.instance.query(
        "SELECT Variable_Value FROM stats_mysql_global"
        " WHERE Variable_Name='Access_Denied_Wrong_Password'"
    )
    return int(str(count))


def failed_at_servers(server: ProxySQL) -> int:
    """Return how many connections to its servers have failed."""
    [(count,)] = server.instance.query("SELECT SUM(ConnERR) FROM stats_mysql_connection_pool")
    return int(str(count))
