"""One executed query of the event log, and the counts of everything else in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from proxyctl.routing.query import ClientQuery
from proxyctl.text import counted

QUERY, PREPARE, EXECUTE = "COM_QUERY", "COM_STMT_PREPARE", "COM_STMT_EXECUTE"
NO_DIGEST = "0x0000000000000000"
"""The digest of a query while mysql-query_digests is false."""
PGSQL_PREFIX = "PGSQL_"
"""The beginning of the names of PostgreSQL events."""


class QueryEvent(NamedTuple):
    """A query that was executed, by the column names of the digest statistics.

    Source: ProxySQL 2.7.1 and 3.0.3, run.
    """

    digest: str
    """The digest, such as 0x1E092DAEFFBBF262."""
    hostgroup: int
    """The hostgroup; -1 if no backend got the query."""
    schemaname: str
    """The schema."""
    username: str
    """The user."""
    client: str
    """The address of the client and its port, as `10.0.0.7:39516`."""
    query: str
    """The text with its literals, as the backend got it; a prepared statement has `?` instead."""
    event: str
    """COM_QUERY or COM_STMT_EXECUTE."""
    duration: int
    """How long the query took; 0 if less than one loop of the worker. Units: microseconds."""
    ended_at: int
    """When the query ended. Units: microseconds since 1970."""
    rows_sent: int
    """The rows that the query returned."""
    rows_affected: int
    """The rows that the query changed."""
    errno: int | None
    """The number of its error, 0 for none; None if the log has no errors, as in ProxySQL 2.7."""

    @property
    def client_address(self) -> str:
        """The address of the client, without its port."""
        return self.client.rpartition(":")[0]

    def request(self) -> ClientQuery:
        """Return the query as the router takes it."""
        return ClientQuery(
            self.query.encode("utf-8", "surrogateescape"),
            username=self.username,
            schemaname=self.schemaname,
            client_addr=self.client_address or None,
            # Rules do not rewrite a prepared statement when it is executed.
            rewrites=self.event != EXECUTE,
        )


@dataclass
class EventTally:
    """What a log holds other than executed queries, counted while it is read."""

    executed: int = 0
    """The queries that were executed."""
    prepared: int = 0
    """The statements that were prepared."""
    pgsql: int = 0
    """The events of PostgreSQL."""
    without_errno: int = 0
    """The executed queries that the log has without errno."""
    remarks: list[str] = field(default_factory=list)
    """Sentences about files that are empty or incomplete."""

    def notes(self) -> Iterator[str]:
        """Yield a sentence for everything that is left out."""
        yield from self.remarks
        if self.prepared:
            yield (
                f"{counted(self.prepared, 'COM_STMT_PREPARE event')} not counted: they do not"
                " execute anything (stats_mysql_query_digest counts them)"
            )
        if self.pgsql:
            yield (
                f"{counted(self.pgsql, 'PostgreSQL event')} not counted: proxyctl reads only MySQL"
                " events"
            )
