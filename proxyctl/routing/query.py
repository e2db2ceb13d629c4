"""What goes into routing: a query in a session, and the digest that ProxySQL makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Digested(Protocol):
    """The digest that ProxySQL makes of a query before it tries rules; see `routing.digest`."""

    @property
    def text(self) -> bytes:
        """The text that match_digest sees."""

    @property
    def number(self) -> int:
        """The number that a rule's `digest` is compared with."""

    @property
    def comment(self) -> bytes | None:
        """The first block comment, which may have hints."""

    @property
    def certain(self) -> bool:
        """Whether ProxySQL makes the same text of the query each time."""


DigestOf = Callable[[bytes], Digested]


@dataclass(frozen=True, slots=True)
class ClientQuery:
    """A query as its bytes arrive, in a session.

    None means "not known", except for `schemaname` and `digest`: a rule that asks for the value
    does not match.
    """

    query: bytes | None
    """The text; None leaves rules with match_pattern undecided, and requires `digest`."""
    username: str | None = None
    """The user who sends the query."""
    schemaname: str | None = None
    """The schema of the session; None: the client chose none, so the user's default_schema or
    mysql-default_schema is in force."""
    client_addr: str | None = None
    """The client's address."""
    proxy_addr: str | None = None
    """The address that the client connected to."""
    proxy_port: int | None = None
    """The port that the client connected to."""
    flagIN: int = 0  # noqa: N815 - the column's own name
    """The flagIN of the session, which next_query_flagIN of an earlier query set."""
    digest: Digested | None = None
    """The digest if it is known; else it is computed from the query."""
    rewrites: bool = True
    """False for COM_STMT_EXECUTE: rules do not rewrite a prepared statement."""
