"""The groups of logged queries that cost most, with percentiles and errors.

Events are read once, and only the sums of each group are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter

from proxyctl.stats.events.digest_texts import DigestText, DigestTexts
from proxyctl.stats.events.event import NO_DIGEST, EventTally, QueryEvent
from proxyctl.stats.events.group import EventGroup, refuse_more_groups, seconds
from proxyctl.stats.events.histogram import percentiles
from proxyctl.stats.model import TABLE_GROUPS, Group, Load
from proxyctl.stats.top.model import GroupSums, Ranking, TopOptions, TopRow
from proxyctl.stats.top.rank import ranked
from proxyctl.text import counted

PERCENTS = (50, 95, 99)

_Key = tuple[str | int, ...]
"""The values of the grouping columns, in their order."""


@dataclass(frozen=True, kw_only=True)
class EventRow(TopRow):
    """A group of logged queries. An entry is an event. Units: times in microseconds."""

    percentiles: Mapping[int, float]
    """The time that so many percent of the queries do not exceed, by PERCENTS; see `histogram`."""
    errors: Mapping[int, int]
    """The number of failed queries by errno."""
    without_errno: int
    """The queries without errno: whether they failed is unknown."""
    is_text_proven: bool
    """Whether the digest text has the logged digest."""
    example: str | None
    """The query that took longest, with its literals; None unless requested."""

    @property
    def failed(self) -> int | None:
        """The number of failed queries; None if no query has an errno."""
        return None if self.without_errno == self.sums.count_star else sum(self.errors.values())


@dataclass(frozen=True, kw_only=True)
class TopOfEvents(Ranking):
    """The list of an event log."""

    events: EventTally
    """What the log holds."""
    first_seen: int
    """When the first query that passes the filters ended; 0 without one. Units: unix seconds."""
    last_seen: int
    """When the last query that passes the filters ended. Units: as above."""

    rows: tuple[EventRow, ...]
    """The groups that pass the filters, at most `options.limit`."""

    def notes(self) -> list[str]:
        """Return the remarks that belong above the list."""
        notes = [*self.events.notes()]
        if self.events.without_errno:
            notes.append(
                f"{counted(self.events.without_errno, 'query')} without errno, which ProxySQL logs"
                " from 3.0 on: failures are unknown"
            )
        unproven = sum(
            row.sums.digest_text is not None and not row.is_text_proven for row in self.rows
        )
        if unproven:
            notes.append(
                f"{counted(unproven, 'digest text')} without the logged digest, marked with ~:"
                " ProxySQL had different mysql-query_digests variables (--host NAME uses those of"
                " an instance), or logged a different text than the client sent"
            )
        if any(row.group.get(Group.DIGEST) == NO_DIGEST for row in self.rows):
            notes.append(
                f"{NO_DIGEST} stands for all queries without a digest: mysql-query_digests was"
                " false"
            )
        return notes


def top_of_events(
    events: Iterable[QueryEvent],
    tally: EventTally,
    options: TopOptions,
    texts: DigestTexts,
    *,
    now: int,
    keeps_examples: bool = False,
) -> TopOfEvents:
    """Return the list. Of the filters, `seen_s` passes the events that ended so long ago.

    `tally`: of the events, which fills as they are read. Units: `now` in unix seconds. Raises:
    ProxyctlError for more groups than fit into the memory, and what reading the events raises.
    """
    groups: dict[_Key, EventGroup] = {}
    key_of, passes = _key_of(options.groups), _filter(options, texts, now)
    has_texts = Group.DIGEST in options.groups
    total_time = 0
    for event in events:
        total_time += event.duration
        if passes is not None and not passes(event):
            continue
        key = key_of(event)
        group = groups.get(key)
        if group is None:
            refuse_more_groups(groups)
            group = groups[key] = EventGroup()
            if has_texts:
                texts.of(event)
        if keeps_examples:
            group.keep_example(event)
        group.add(event)

    def text_of(key: _Key) -> DigestText | None:
        return texts.made(str(key[options.groups.index(Group.DIGEST)])) if has_texts else None

    ranking = ranked(
        (_sums(key, group, text_of(key)) for key, group in groups.items()),
        options,
        total=Load(tally.executed, tally.executed, total_time),
        longest=texts.longest,
    )
    rows = [_row(row, groups[row.sums.key], text_of(row.sums.key)) for row in ranking.rows]
    return TopOfEvents(
        **{**vars(ranking), "rows": tuple(rows)},
        events=tally,
        first_seen=seconds(min((group.first_at for group in groups.values()), default=0)),
        last_seen=seconds(max((group.last_at for group in groups.values()), default=0)),
    )


_PLACES: dict[Group, int] = {
    group: QueryEvent._fields.index(group) for group in TABLE_GROUPS if group in QueryEvent._fields
}
"""The columns that are fields of an event: all but client_address."""


def _value_of(group: Group) -> Callable[[QueryEvent], str | int]:
    """Return a function that returns the value of a column."""
    return itemgetter(_PLACES[group]) if group in _PLACES else attrgetter(group)


def _key_of(groups: Sequence[Group]) -> Callable[[QueryEvent], _Key]:
    """Return a function that returns the values of the grouping columns of an event."""
    if len(groups) > 1 and _PLACES.keys() >= {*groups}:
        return itemgetter(*[_PLACES[group] for group in groups])
    values = [_value_of(group) for group in groups]
    if len(values) == 1:
        [value] = values
        return lambda event: (value(event),)
    return lambda event: tuple([value(event) for value in values])


def _filter(
    options: TopOptions, texts: DigestTexts, now: int
) -> Callable[[QueryEvent], bool] | None:
    """Return a function that says whether an event passes; None if all do."""
    columns = [(_value_of(column), frozenset(values)) for column, values in options.columns.items()]
    patterns = [
        re.compile(".*".join(map(re.escape, text.split("%"))), re.IGNORECASE | re.DOTALL)
        for text in options.texts
    ]
    ended_from = (now - options.seen_s) * 1_000_000 if options.seen_s else 0
    if not (columns or patterns or ended_from):
        return None

    def passes(event: QueryEvent) -> bool:
        if event.ended_at < ended_from or any(
            value(event) not in values for value, values in columns
        ):
            return False
        if not patterns:
            return True
        text = texts.of(event).text
        return any(pattern.search(text) for pattern in patterns)

    return passes


def _sums(key: _Key, group: EventGroup, text: DigestText | None) -> GroupSums:
    return GroupSums(key, text and text.text, group.count_star, *group.counters())


def _row(row: TopRow, group: EventGroup, text: DigestText | None) -> EventRow:
    # The middle of a bucket may be beyond all durations in it.
    values = [
        value and min(max(value, group.min_time), group.max_time)
        for value in percentiles(group.buckets, PERCENTS)
    ]
    return EventRow(
        **vars(row),
        percentiles=dict(zip(PERCENTS, values, strict=True)),
        errors=dict(sorted(group.errors.items())),
        without_errno=group.without_errno,
        is_text_proven=text is not None and text.is_proven,
        example=group.example if text is not None and group.example else None,
    )
