"""What happened between snapshots of the digest table: the counters only grow, until a reset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

from proxyctl.digests.diff_snapshot import DigestRow
from proxyctl.digests.resets import Began, began_again, fell


class Rows(Protocol):
    """Rows that can be gone through more than once."""

    def __iter__(self) -> Iterator[DigestRow]: ...
    def __len__(self) -> int: ...


class Moment(Protocol):
    """The digest table at one moment. Units: `taken_at` in unix seconds, `uptime` in seconds."""

    @property
    def taken_at(self) -> int: ...  # noqa: D102
    @property
    def uptime(self) -> int | None: ...  # noqa: D102
    @property
    def rows(self) -> Rows: ...  # noqa: D102


class Grown(NamedTuple):
    """What one row has gained. Units: `time` in microseconds; `rows` sent or affected."""

    row: DigestRow
    calls: int
    time: int
    rows: int


class Counters:
    """The counters of one moment by row, to tell what the next one has gained."""

    def __init__(self, moment: Moment) -> None:
        self._started_at = _started_at(moment)
        self._seen = {
            _key(row): (
                row.count_star,
                row.sum_time,
                row.sum_rows_affected + row.sum_rows_sent,
                row.first_seen,
            )
            for row in moment.rows
        }
        self.were_reset = False
        """Whether counters fell or rows went: known when `grown` was gone through."""

    def grown(self, later: Moment) -> Iterator[Grown]:
        """Yield what each row of a later moment has gained, those at rest left out.

        Where the counters were reset in between, what they show since then is what is known.
        Changes: self, which serves one later moment only.
        """
        seen, started_at = self._seen, _started_at(later)
        for row in later.rows:
            before = seen.pop(_key(row), None)
            calls, time = row.count_star, row.sum_time
            rows = row.sum_rows_affected + row.sum_rows_sent
            if before is not None:
                began = Began(before[3], self._started_at), Began(row.first_seen, started_at)
                if fell(before[:2], (calls, time)) or began_again(*began):
                    self.were_reset = True
                else:
                    calls -= before[0]
                    time -= before[1]
                    rows = max(0, rows - before[2])
            if calls:
                yield Grown(row, calls, time, rows)
        # Nothing leaves the table but by a reset.
        self.were_reset = self.were_reset or bool(seen)


def _started_at(moment: Moment) -> int | None:
    return None if moment.uptime is None else moment.taken_at - moment.uptime


def _key(row: DigestRow) -> tuple[int, str, str, str, str]:
    return row.hostgroup, row.schemaname, row.username, row.client_address, row.digest


def totals(rows: Rows) -> Iterator[Grown]:
    """Yield the rows of one moment with all that they count."""
    for row in rows:
        if row.count_star:
            sent = row.sum_rows_affected + row.sum_rows_sent
            yield Grown(row, row.count_star, row.sum_time, sent)


def in_order(moments: Sequence[Moment]) -> list[Moment]:
    """Return the moments, the earliest first. Raises: ValueError where two are the same second."""
    ordered = sorted(moments, key=lambda moment: moment.taken_at)
    for earlier, later in pairwise(ordered):
        if earlier.taken_at == later.taken_at:
            raise ValueError("two snapshots of the same second")
    return ordered
