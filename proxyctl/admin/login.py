"""Where an instance is, and who we are there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

CONNECT_TIMEOUT_S = 10
READ_TIMEOUT_S = 60.0
"""Somebody's read of a large digest table holds the whole admin interface for seconds."""


@dataclass(frozen=True)
class Login:
    """Where an admin interface is, and who we are there. `password` never appears in a repr.

    `read_ca` returns the PEM text of `tls_ca` where files name it: they may be kept from leading
    anywhere. Without it the path is opened as it is.
    """

    host: str = "127.0.0.1"
    port: int = 6032
    user: str = "admin"
    password: str = ""
    name: str = ""
    socket: str | None = None
    tls_ca: str | None = None
    read_ca: Callable[[], str] | None = None
    tls_required: bool = False
    connect_timeout_s: int = CONNECT_TIMEOUT_S
    read_timeout_s: float = READ_TIMEOUT_S

    def __repr__(self) -> str:
        return f"Login({self.user}@{self.address})"

    @property
    def address(self) -> str:
        """`host:port`, or the path of the socket."""
        return self.socket or f"{self.host}:{self.port}"
