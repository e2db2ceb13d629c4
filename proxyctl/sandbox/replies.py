"""The answers of the sandbox, apart from the protocol, and options by which tests change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

SqliteValue = int | float | str | bytes | None
"""One field as SQLite returns it. Text that is not UTF-8 holds its bytes as surrogate escapes."""

ACCESS_DENIED = 1045
NOT_MODELLED = 1235


@dataclass(frozen=True)
class Answer:
    """The answer to one statement: a result set if it has columns, else an OK packet."""

    columns: tuple[str, ...] = ()
    rows: list[tuple[SqliteValue, ...]] = field(default_factory=list)
    affected: int = 0
    info: str = ""


OK = Answer()


class AdminError(Exception):
    """An error packet. ProxySQL uses code 1045 for everything that SQLite refuses."""

    def __init__(self, message: str, *, code: int = ACCESS_DENIED, sqlstate: str = "28000") -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.sqlstate = sqlstate


class CutConnectionError(Exception):
    """Raised by a hook to end the connection of a client without an answer, as a crash does."""


@dataclass
class Options:
    """Settings that may change while the sandbox serves.

    The hooks get the text of each statement, before it runs and before it is answered. A hook may
    raise AdminError, to make the statement fail, or CutConnectionError.
    """

    clients_are_remote: bool = False
    before_statement: Callable[[str], None] = lambda _sql: None
    after_statement: Callable[[str], None] = lambda _sql: None


def sqlite_error(text: str) -> AdminError:
    """Return ProxySQL's error packet for an SQLite message."""
    return AdminError(f"ProxySQL Admin Error: {text}")


def refusal(text: str) -> AdminError:
    """Return the error for a statement that only the sandbox refuses; `text` says what and why."""
    return AdminError(f"The sandbox {text}", code=NOT_MODELLED, sqlstate="42000")


def not_modelled(feature: str) -> AdminError:
    """Return the error for something that ProxySQL has and the sandbox does not."""
    return refusal(f"does not model {feature}")


def address_text(host: str, port: int) -> str:
    """Return an address as people write it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def transaction_refusal(word: str) -> AdminError:
    """Return the error for a statement that begins or ends a transaction."""
    return refusal(
        f"refuses {word}: ProxySQL has no transactions for clients;"
        " it swallows the statement or blocks the admin interface for everyone"
    )
