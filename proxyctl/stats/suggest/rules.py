"""Proposed rules: a free rule_id in the right place, checked by a replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from proxyctl.catalog import TABLES, Layout, Value, layout_of
from proxyctl.routing.sides import Sides
from proxyctl.state.configuration import Configuration, Held
from proxyctl.state.row import Row
from proxyctl.stats.model import SeenDigest
from proxyctl.stats.replay.comparison import Comparison, Verdict

RULES = "mysql_query_rules"
_FIRST, _STEP = 100, 10
_MOST = 1_000
"""So far away from a rule a free rule_id is looked for."""

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


class RuleIds:
    """Free rule_ids. `may_use` says which the files may use; a rule_id is given out once."""

    def __init__(
        self, configuration: Configuration, may_use: Callable[[int], bool] = any_rule_id
    ) -> None:
        held = configuration.tables.get(RULES)
        self._rules = [int(value or 0) for value in (held.column("rule_id") if held else ())]
        self._taken = set(self._rules)
        self._may_use = may_use

    def take(self, rule_id: int) -> None:
        """Give out a rule_id. Changes: self."""
        self._taken.add(rule_id)

    def before(self, rule_id: int) -> int | None:
        """Return the nearest free one before a rule."""
        return self._free(range(rule_id - 1, max(0, rule_id - _MOST), -1))

    def first(self) -> int | None:
        """Return a free one before all rules, or before the others."""
        return self.before(min(self._rules, default=_FIRST))

    def last(self) -> int | None:
        """Return a free one behind all rules."""
        last = max(self._rules, default=_FIRST)
        return self._free(range(last + _STEP, last + _MOST))

    def _free(self, wanted: range) -> int | None:
        free = (one for one in wanted if one not in self._taken and self._may_use(one))
        return next(free, None)


def place_rule(
    configuration: Configuration,
    recorded: Mapping[str, str],
    rows: Sequence[SeenDigest],
    attempts: Iterable[tuple[Cells, Iterable[int | None]]],
    is_right: Callable[[SeenDigest, Verdict], bool],
) -> Cells | None:
    """Return the first rule whose replay `is_right` accepts for all rows; None if there is none.

    `attempts`: cells of a rule, and the rule_ids that it may have; None is none.
    """
    for cells, places in attempts:
        for rule_id in dict.fromkeys(places):
            if rule_id is None:
                continue
            rule = {"rule_id": rule_id, **cells}
            sides = Sides(configuration, with_rules(configuration, [rule]))
            comparison = Comparison(sides, recorded)
            if all(is_right(seen, comparison.verdict(seen)) for seen in rows):
                return rule
    return None
