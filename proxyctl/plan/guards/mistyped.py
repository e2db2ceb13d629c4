"""Guard: a key of MEMORY that no statement of an apply would find, such as a BLOB."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.instance.read import TableLayers
from proxyctl.plan.guards import Danger
from proxyctl.plan.plan import ModulePlan

MISTYPED_KEY = "mistyped_key"


def dangers(modules: Iterable[ModulePlan], tables: Mapping[str, TableLayers]) -> Iterator[Danger]:
    """Yield the key columns with cells of another type in modules that the plan writes or loads."""
    for module in modules:
        if module.does_something:
            yield from mistyped_keys(tables[name] for name in module.diffs)


def mistyped_keys(tables: Iterable[TableLayers]) -> Iterator[Danger]:
    """Yield the key columns of these tables with cells of another type."""
    for table in tables:
        for cells in table.mistyped:
            if cells.is_key:
                yield Danger(
                    MISTYPED_KEY,
                    f"{cells.subject} of {cells.rows} is {cells.type.name} and part of the key: no"
                    " statement of an apply would find the row, and a second row for the key that"
                    " ProxySQL reads can crash it",
                    cells.fix,
                    can_force=False,
                )
