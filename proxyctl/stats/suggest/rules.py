"""Proposed rules: a free rule_id in the right place, checked by a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from proxyctl.catalog import TABLES, Layout, Value, layout_of
from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration, Held
from proxyctl.state.row import Row
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import Comparison, Verdict

RULES = "mysql_query_rules"
_STEP = 10
_MOST_TRIED = 3
"""The number of rule_ids that are tried for one rule."""

Cells = Mapping[str, Value]


def rule_layout(configuration: Configuration) -> Layout:
    """Return the layout of mysql_query_rules in a configuration."""
    held = configuration.tables.get(RULES)
    return held.layout if held else layout_of(TABLES[RULES], configuration.version)


def rule_row(layout: Layout, cells: Cells) -> Row:
    """Return a whole row: what is not named has the column's default, and `active` is 1."""
    given = {"active": 1, **cells}
    return tuple(given.get(column.name, column.default) for column in layout.columns)


def with_rules(configuration: Configuration, rules: Iterable[Cells]) -> Configuration:
    """Return a configuration with these rules added."""
    layout = rule_layout(configuration)
    held = configuration.tables.get(RULES)
    kept = dict(held.rows if held else {})
    for cells in rules:
        row = rule_row(layout, cells)
        kept[layout.key_of(row)] = row
    return replace(configuration, tables={**configuration.tables, RULES: Held(layout, kept)})


def any_rule_id(_rule_id: int) -> bool:
    """Return True: any rule_id may be used."""
    return True


class Places:
    """Free rule_ids. `may_use` says which the files may use; a rule_id is given out once."""

    def __init__(
        self, configuration: Configuration, may_use: Callable[[int], bool] = any_rule_id
    ) -> None:
        held = configuration.tables.get(RULES)
        self._taken = sorted(int(value or 0) for value in (held.column("rule_id") if held else ()))
        self._given: set[int] = set()
        self._may_use = may_use

    def take(self, rule_id: int) -> None:
        """Give out a rule_id. Changes: self."""
        self._given.add(rule_id)

    def before(self, rule_id: int) -> Iterator[int]:
        """Yield free rule_ids before a rule, the nearest place first: one of each gap."""
        above = rule_id
        for taken in [*(one for one in reversed(self._taken) if one < rule_id), 0]:
            free = self._in_gap(taken, above)
            if free is not None:
                yield free
            above = taken

    def first(self) -> Iterator[int]:
        """Yield free rule_ids before all rules, else before the others."""
        yield from self.before(self._taken[0] if self._taken else 10 * _STEP)

    def last(self) -> Iterator[int]:
        """Yield a free rule_id behind all rules."""
        rule_id = (self._taken[-1] if self._taken else 10 * _STEP) + _STEP
        while rule_id in self._given:
            rule_id += _STEP
        if self._may_use(rule_id):
            yield rule_id

    def _in_gap(self, low: int, high: int) -> int | None:
        """Return a free rule_id between two, near the upper one, with room left where there is."""
        reach = high - low
        for below in (_STEP // 2, 1):
            first = high - below
            if first <= low:
                continue
            for rule_id in range(first, max(low, first - min(reach, 1_000)), -below):
                if rule_id not in self._given and self._may_use(rule_id):
                    return rule_id
        return None


def place_rule(
    configuration: Configuration,
    recorded: Mapping[str, str],
    rows: Sequence[SeenDigest],
    attempts: Iterable[tuple[Cells, Iterable[int]]],
    is_right: Callable[[SeenDigest, Verdict], bool],
) -> Cells | None:
    """Return the first rule whose replay `is_right` accepts for all rows; None if there is none.

    `attempts`: cells of a rule, and the rule_ids that it may have.
    """
    for cells, places in attempts:
        for number, rule_id in enumerate(places):
            if number == _MOST_TRIED:
                break
            rule = {"rule_id": rule_id, **cells}
            sides = Sides(configuration, with_rules(configuration, [rule]))
            comparison = Comparison(sides, recorded)
            if all(is_right(seen, comparison.verdict(seen)) for seen in rows):
                return rule
    return None
