"""Reads tables that ProxySQL's own threads, or other programs, may have locked for a moment.

Where SQLite cannot begin with a SELECT, ProxySQL answers no row at all, and no error. That is so
for the monitor's tables while the monitor writes, and for ProxySQL's files on disk while somebody
has them locked: itself once a minute for stats_history, a backup or sqlite3 for the other. So an
answer is asked for in a form that has a row in any case, and an empty one is asked for again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from proxyctl.admin.client import AdminClient
from proxyctl.errors import InstanceError
from proxyctl.sql import literal

LOCKED = (
    "another program (a backup, sqlite3) has ProxySQL's files locked, or its database is damaged:"
    " PRAGMA integrity_check on the admin interface"
)

END = "the end of this answer"
"""What stands in every cell of the last row that `query_whole` asks for."""
_PAUSES_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16)

_Row = TypeVar("_Row")


def answered(ask: Callable[[], list[_Row]]) -> list[_Row]:
    """Return the answer to a SELECT that always has a row; an empty list if it stays away."""
    for pause in _PAUSES_S:
        if answer := ask():
            return answer
        time.sleep(pause)
    return ask()


def query_whole(client: AdminClient, sql: str, *, width: int) -> list[tuple[str | None, ...]]:
    """Return the rows of a SELECT as text, all of them. Shape: `width` cells a row.

    Raises: InstanceError where ProxySQL goes on answering with a part, and as `client.query`.
    """
    end = (END,) * width
    marked = f"SELECT * FROM ({sql}) UNION ALL SELECT {', '.join(map(literal, end))}"
    *rows, last = answered(lambda: client.query(marked)) or [()]
    if last != end:
        message = f"{client.address}: ProxySQL answered with a part of the rows only: {sql}"
        raise InstanceError(message, hint=LOCKED)
    return rows
