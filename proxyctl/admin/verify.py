"""Whether a layer holds what was written to it, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from proxyctl.catalog import Layout, Role
from proxyctl.catalog.variables import READ_ONLY
from proxyctl.change import sorted_keys
from proxyctl.compare import Difference, differences, fold_users
from proxyctl.families import Family
from proxyctl.runtime_image import is_copied, runtime_image
from proxyctl.servers_compared import compare_servers
from proxyctl.sql import MASK, is_secret
from proxyctl.state import KEEP, DesiredRow, Key, Row, Rows
from proxyctl.survey import NOT_PUBLISHED, counts


@dataclass(frozen=True)
class Shortfall:
    """One row that a layer does not hold as it was written."""

    layout: Layout
    difference: Difference

    def text(self) -> str:
        """Return what was asked and what is there, secrets masked."""
        layout, difference = self.layout, self.difference
        key = ":".join(str(part) for part in difference.key)
        if difference.current is None:
            return f"{layout.table.sql_name} {key}: the row is missing"
        if difference.desired is None:
            return f"{layout.table.sql_name} {key}: the row should not be there"
        fields = (self._field(difference, position) for position in difference.columns)
        return f"{layout.table.sql_name} {key}: {', '.join(fields)}"

    def _field(self, difference: Difference, position: int) -> str:
        current, desired = difference.current or (), difference.desired or ()
        plain: Row = tuple(None if cell is KEEP else cell for cell in desired)
        name = self.layout.names[position]
        if is_secret(self.layout, position, plain) or is_secret(self.layout, position, current):
            return f"{name} asked {MASK}, holds something else"
        return f"{name} asked {plain[position]!r}, holds {current[position]!r}"


def stored_shortfalls(layout: Layout, found: Rows, expected: Rows) -> Iterator[Shortfall]:
    """Yield the rows of MEMORY or DISK that are not exactly what was written."""
    if found is expected or found == expected:
        return
    # Restart-only variables count here: DISK is where they are set.
    yield from _both_ways(layout, found, expected, unchecked=READ_ONLY)


def runtime_shortfalls(
    layout: Layout, found: Rows, loaded: Rows, families: Iterable[Family]
) -> Iterator[Shortfall]:
    """Yield the rows that RUNTIME dropped, kept or changed, compared with what a LOAD should give.

    Nodes of monitored families may have moved since the LOAD: there, membership and attributes
    count.
    """
    if is_copied(layout) and found == loaded:
        return
    image = runtime_image(layout, loaded)
    if layout.name in ("mysql_servers", "pgsql_servers"):
        status = layout.index["status"]
        live = {k: r for k, r in found.items() if str(r[status]).upper() != "OFFLINE_HARD"}
        verdict = compare_servers(layout, live, image, families)
        yield from (Shortfall(layout, difference) for difference in verdict.differences)
        return
    rows = fold_users(layout, found) if "frontend" in layout.index else found
    yield from _both_ways(layout, rows, image, unchecked=NOT_PUBLISHED)


def runtime_rows(layout: Layout, loaded: Rows) -> list[Row] | None:
    """Return the rows of rules or users that RUNTIME lists after a LOAD of these, in its order.

    None for other tables. All frontends come before all backends; that each of them follow the
    keys holds for a first LOAD of users that stood in that order. A user who is loaded in two
    rows that do not go together is not settled here.
    """
    role = layout.table.role
    image = cast("Rows", runtime_image(layout, loaded))  # rows of MEMORY hold no KEEP
    if role is Role.RULES:
        return [image[key] for key in sorted_keys(image)]
    if role is Role.USERS:
        return _halves(layout, [image[key] for key in sorted_keys(image)])
    return None


def _halves(layout: Layout, rows: list[Row]) -> list[Row] | None:
    backend, frontend = layout.index["backend"], layout.index["frontend"]
    if frontend != backend + 1:
        return None
    return [
        *[(*row[:backend], 0, 1, *row[frontend + 1 :]) for row in rows if row[frontend] == 1],
        *[(*row[:backend], 1, 0, *row[frontend + 1 :]) for row in rows if row[backend] == 1],
    ]


def _both_ways(
    layout: Layout,
    found: Rows,
    expected: Mapping[Key, DesiredRow] | Rows,
    *,
    unchecked: frozenset[str],
) -> Iterator[Shortfall]:
    if found == expected:
        return
    is_variables = layout.table.prefix is not None
    for difference in differences(layout, found, expected.items()):
        is_unchecked = difference.key[0] in unchecked or not counts(layout, difference)
        if not (is_variables and is_unchecked):
            yield Shortfall(layout, difference)
    for key, row in found.items():
        if key not in expected and not is_variables:
            yield Shortfall(layout, Difference(key, row, None))
