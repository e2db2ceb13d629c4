"""What the evaluation begins with: a query, and the session that sends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Digested(Protocol):
    """What ProxySQL makes of a query before it looks at rules, as `routing.digest` computes it."""

    @property
    def text(self) -> bytes:
        """What match_digest sees."""

    @property
    def number(self) -> int:
        """What the column `digest` is compared with."""

    @property
    def comment(self) -> bytes | None:
        """The first block comment, where hints stand."""

    @property
    def certain(self) -> bool:
        """Whether ProxySQL makes the same text of it each time."""


DigestOf = Callable[[bytes], Digested]


@dataclass(frozen=True, slots=True)
class Request:
    """A query as its bytes arrive, in a session.

    None is "not known": a rule that asks for it does not match. But for schemaname, where it means
    that the client chose none, so that the user's or mysql-default_schema is in force. `query` None
    leaves rules with match_pattern undecided; `digest` has to be given then.
    """

    query: bytes | None
    username: str | None = None
    schemaname: str | None = None
    client_addr: str | None = None
    proxy_addr: str | None = None
    proxy_port: int | None = None
    flagIN: int = 0  # noqa: N815 - the column's own name
    """Where the session stands: what next_query_flagIN of an earlier query left."""
    digest: Digested | None = None
    """The digest where it is known; else it is computed from the query."""
    rewrites: bool = True
    """False for COM_STMT_EXECUTE: the text is that of the prepared statement, and stays."""
