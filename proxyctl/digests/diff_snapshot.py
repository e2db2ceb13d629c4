"""The digests of an instance at one moment, as a comparison takes them: gone through once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


class DigestRow(Protocol):
    """A row of stats_mysql_query_digest.

    Units: `first_seen` in unix seconds, the times in microseconds.
    """

    @property
    def hostgroup(self) -> int: ...  # noqa: D102  # ProxySQL's own names
    @property
    def schemaname(self) -> str: ...  # noqa: D102
    @property
    def username(self) -> str: ...  # noqa: D102
    @property
    def client_address(self) -> str: ...  # noqa: D102
    @property
    def digest(self) -> str: ...  # noqa: D102
    @property
    def digest_text(self) -> str: ...  # noqa: D102
    @property
    def count_star(self) -> int: ...  # noqa: D102
    @property
    def first_seen(self) -> int: ...  # noqa: D102
    @property
    def sum_time(self) -> int: ...  # noqa: D102
    @property
    def max_time(self) -> int: ...  # noqa: D102
    @property
    def sum_rows_affected(self) -> int: ...  # noqa: D102
    @property
    def sum_rows_sent(self) -> int: ...  # noqa: D102


@dataclass(frozen=True)
class Snapshot:
    """stats_mysql_query_digest at one moment, and what is needed to compare it with another one.

    Shape: `rows` may be there to be gone through once only; there are `count` of them. `uptime` is
    ProxySQL_Uptime, None where it is not known. `variables` are those of mysql-query_digests.
    Units: `taken_at` in unix seconds of the instance's clock, `uptime` in seconds.
    """

    name: str
    address: str
    version: str
    taken_at: int
    uptime: int | None
    count: int
    rows: Iterable[DigestRow]
    variables: Mapping[str, str] = field(default_factory=dict)
