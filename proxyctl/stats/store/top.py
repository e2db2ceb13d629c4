"""The digests that cost most in a window of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proxyctl.stats.differing_digests import with_names
from proxyctl.stats.model import Group, Load
from proxyctl.stats.store.series import bindable
from proxyctl.stats.store.window import (
    StoredInstance,
    StoreWindow,
    WindowReader,
    opened_window,
)
from proxyctl.stats.top.model import CountedInstance, GroupSums, Ranking, TopOptions, counting_notes
from proxyctl.stats.top.rank import longest_text, ranked
from proxyctl.stats.top.read import like_pattern

COLUMNS = {group: f"series.{group}" for group in Group} | {Group.INSTANCE: "instance.name"}
"""The SQL expression for each grouping column."""


@dataclass(frozen=True, kw_only=True)
class TopOfStore(Ranking):
    """The list of a window."""

    window: StoreWindow
    """What was read."""
    start: int
    """When the first period in it began. Units: unix seconds."""
    end: int
    """When the last period in it ended. Units: unix seconds."""
    further_notes: tuple[str, ...] = ()
    """Why the sums may mislead."""

    def notes(self) -> list[str]:
        """Return the remarks that belong above the list."""
        counting = (
            (instance.name, note)
            for instance in self.instances
            for note in counting_notes(instance.variables, self.options, instance.total)
        )
        return [*with_names(dict.fromkeys(counting)), *self.further_notes]


def read_top_of_store(window: StoreWindow, options: TopOptions) -> TopOfStore:
    """Return the list. In its rows, first_seen and last_seen are ends of periods.

    Raises: as `opened_window`.
    """
    with opened_window(window) as reader:
        instances = [counted_instance(reader, [stored]) for stored in reader.instances]
        total = Load()
        for instance in instances:
            total += instance.total
        ranking = ranked(
            _groups(reader, options),
            options,
            total=total,
            longest=longest_text(instances),
        )
        return TopOfStore(
            **{**vars(ranking), "instances": instances},
            window=window,
            start=min(stored.start for stored in reader.instances),
            end=max(stored.end for stored in reader.instances),
            further_notes=tuple(reader.notes()),
        )


def counted_instance(reader: WindowReader, instances: Sequence[StoredInstance]) -> CountedInstance:
    """Return an instance with its load. `instances`: one, or one with each of its addresses."""
    numbers = ",".join(str(instance.number) for instance in instances)
    [load] = reader.store.execute(
        "SELECT count(*), ifnull(sum(sums.count_star), 0), ifnull(sum(sums.sum_time), 0)"
        " FROM sums JOIN series ON series.id = sums.series"
        f" WHERE series.instance IN ({numbers})"
    ).fetchall()
    last = max(instances, key=lambda instance: instance.end)
    began_at = min(instance.start for instance in instances)
    return CountedInstance(
        last.name, last.address, last.version, last.end, began_at, Load(*load), last.variables
    )


def _groups(reader: WindowReader, options: TopOptions) -> Iterator[GroupSums]:
    """Yield the groups whose rows pass the filters on rows."""
    names = {str(instance.number): instance.name for instance in reader.instances}
    columns = [COLUMNS[group] for group in options.groups]
    conditions, values = _filters(options, reader.window.until)
    text = "digest_text" if Group.DIGEST in options.groups else "NULL"
    cursor = reader.store.execute(
        f"SELECT {', '.join([*columns, text])}, count(*), sum(sums.count_star), min(first_at),"
        " max(last_at), sum(sums.sum_time), ifnull(min(nullif(min_time, 0)), 0), max(max_time),"
        " sum(sums.sum_rows_affected), sum(sums.sum_rows_sent),"
        " group_concat(DISTINCT series.instance)"
        " FROM sums JOIN series ON series.id = sums.series"
        " JOIN digest ON digest.digest = series.digest"
        " JOIN instance ON instance.id = series.instance"
        f" WHERE {' AND '.join(['true', *conditions])} GROUP BY {', '.join(columns)}",
        values,
    )
    width = len(columns)
    for row in cursor:
        numbers = {*row[-1].split(",")}
        seen_on = tuple(name for number, name in names.items() if number in numbers)
        yield GroupSums._make((row[:width], *row[width:-1], seen_on))


def _filters(options: TopOptions, until: int) -> tuple[list[str], list[object]]:
    """Return the conditions on rows, and the values that they bind."""
    conditions: list[str] = []
    values: list[object] = []
    for column, wanted in options.columns.items():
        marks = ",".join(["?" if column is Group.HOSTGROUP else "CAST(? AS TEXT)"] * len(wanted))
        if column is Group.HOSTGROUP:
            values += [int(value) for value in wanted]
        else:
            values += [bindable(str(value)) for value in wanted]
        conditions.append(f"{COLUMNS[column]} IN ({marks})")
    if options.texts:
        likes = ["digest_text LIKE CAST(? AS TEXT) ESCAPE '|'"] * len(options.texts)
        conditions.append(f"({' OR '.join(likes)})")
        values += [bindable(like_pattern(text)) for text in options.texts]
    if options.seen_s:
        conditions.append("last_at >= ?")
        values.append(until - options.seen_s)
    return conditions, values
