"""Clears stats_mysql_query_digest."""

from __future__ import annotations

from proxyctl.instance.client import AdminClient
from proxyctl.state.sql import Statement

_CLEAR = Statement.plain("TRUNCATE TABLE stats_mysql_query_digest")
"""A SELECT of the `_reset` table would clear too, and is not taken: it copies everything first, and
when its answer is lost on the way nobody has the numbers. This one copies nothing."""


def clear_digests(client: AdminClient) -> None:
    """Clear the statistics for everybody.

    ProxySQL's count of changed rows is of no use: it counts texts that many entries share as well.
    Raises: StatementError; ConnectionLostError when it is not known whether it ran.
    """
    client.execute(_CLEAR)
