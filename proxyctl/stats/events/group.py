"""The sums of a group of events: the counters of the digest statistics, percentiles and errors.

The figures of a group take 1 to 30 KB, most of it the buckets of its durations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sized

from proxyctl.errors import ProxyctlError
from proxyctl.stats.events.event import QueryEvent
from proxyctl.stats.events.histogram import bucket_of
from proxyctl.stats.model import LARGEST

MOST_GROUPS = 100_000
"""The most groups, which bounds the memory. ProxySQL's own digests are rarely more."""
LONGEST_EXAMPLE = 2_000
"""The most characters of a query to keep as an example."""


def refuse_more_groups(groups: Sized) -> None:
    """Raise ProxyctlError if no further group fits into the memory."""
    if len(groups) >= MOST_GROUPS:
        raise ProxyctlError(
            f"the event log has more than {MOST_GROUPS:,} groups or digests: proxyctl does not keep"
            " more in memory",
            fix="group by fewer columns with --group, filter with --schemaname or --username, or"
            " give fewer files",
        )


def seconds(microseconds: int) -> int:
    """Return whole seconds, as in the digest statistics."""
    return microseconds // 1_000_000


class EventGroup:
    """The sums of some events. Units: times in microseconds."""

    __slots__ = (
        "buckets",
        "count_star",
        "errors",
        "example",
        "first_at",
        "last_at",
        "least_time",
        "max_time",
        "sum_rows_affected",
        "sum_rows_sent",
        "sum_time",
        "without_errno",
    )

    def __init__(self) -> None:
        self.count_star = 0
        self.sum_time = 0
        self.least_time = LARGEST
        """The smallest time that is not 0, as in the digest statistics; LARGEST for none."""
        self.max_time = 0
        self.first_at = LARGEST
        """When the first query ended. Units: microseconds since 1970."""
        self.last_at = 0
        """When the last query ended. Units: microseconds since 1970."""
        self.sum_rows_affected = 0
        self.sum_rows_sent = 0
        self.buckets: defaultdict[int, int] = defaultdict(int)
        """The number of durations in each bucket of `histogram`."""
        self.errors: dict[int, int] = {}
        """The number of failed queries by errno."""
        self.without_errno = 0
        """The queries without errno: whether they failed is unknown."""
        self.example = ""
        """The query that took longest, if examples are kept."""

    def add(self, event: QueryEvent) -> None:
        """Add an event. Changes: self."""
        _, _, _, _, _, _, _, duration, ended_at, sent, affected, errno = event
        self.count_star += 1
        if ended_at > self.last_at:
            self.last_at = ended_at
        if ended_at < self.first_at:
            self.first_at = ended_at
        if duration:
            self.sum_time += duration
            if duration > self.max_time:
                self.max_time = duration
            if duration < self.least_time:
                self.least_time = duration
        self.buckets[bucket_of(duration)] += 1
        if sent:
            self.sum_rows_sent += sent
        if affected:
            self.sum_rows_affected += affected
        if errno:
            self.errors[errno] = self.errors.get(errno, 0) + 1
        elif errno is None:
            self.without_errno += 1

    @property
    def min_time(self) -> int:
        """The smallest time that is not 0; 0 for none."""
        return self.least_time if self.max_time else 0

    def keep_example(self, event: QueryEvent) -> None:
        """Keep the query if none took longer; to be called before `add`. Changes: self."""
        if event.duration > self.max_time or not self.count_star:
            self.example = event.query[:LONGEST_EXAMPLE]

    def counters(self) -> tuple[int, int, int, int, int, int, int, int]:
        """Return the counters in the order of stats_mysql_query_digest."""
        return (
            self.count_star,
            seconds(self.first_at),
            seconds(self.last_at),
            self.sum_time,
            self.min_time,
            self.max_time,
            self.sum_rows_affected,
            self.sum_rows_sent,
        )
