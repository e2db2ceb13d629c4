"""Guards: too many rows of a table deleted at once, and emptied tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.catalog import Layout, Role
from proxyctl.errors import counted
from proxyctl.plan.change import ADD, DELETE
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.guards import Danger
from proxyctl.plan.plan import ModulePlan
from proxyctl.state.row import GuardLimits, Key, Rows

MAX_DELETES, TABLE_EMPTIED = "max_deletes", "table_emptied"


NEVER_EMPTIED = frozenset(
    f"{protocol}_{table}"
    for protocol in ("mysql", "pgsql")
    for table in ("servers", "users", "query_rules")
)


def deletions(modules: Iterable[ModulePlan], limits: GuardLimits) -> Iterator[Danger]:
    """Yield the tables that lose too many rows, or all active rows."""
    for module in modules:
        for name, diff in module.diffs.items():
            if diff.layout.table.prefix:
                continue
            gone, present = _gone(module, diff), max(diff.memory_count, diff.runtime_count)
            if name in NEVER_EMPTIED and (reason := _emptied(module, diff, gone, present)):
                yield Danger(TABLE_EMPTIED, reason)
            elif limit := _passed_limit(gone, present, limits):
                text = f"{name}: {gone:,} of {present:,} rows would be deleted; the limit is"
                yield Danger(MAX_DELETES, f"{text} {limit}")


def _emptied(module: ModulePlan, diff: TableDiff, gone: int, present: int) -> str | None:
    """Return that a table would have no row, or no active one, if it would not."""
    table = diff.layout.name
    if not diff.target and gone:
        return f"{table}: nothing would be left; {counted(present, 'row')} would be deleted"
    if not module.at_runtime(table) or diff.layout.table.role is Role.SERVERS:
        return None
    before = _at_work(diff.layout, diff.runtime)
    if before and not _at_work(diff.layout, diff.target):
        return _nothing_at_work(diff.layout, before)
    return None


def _passed_limit(gone: int, present: int, limits: GuardLimits) -> str | None:
    """Return the limit that so many deletions pass."""
    is_large = present > limits.max_deletes_above_rows
    if is_large and gone * 100 > present * limits.max_deletes_percent:
        return f"{limits.max_deletes_percent} percent"
    if gone > limits.max_deletes_rows:
        return counted(limits.max_deletes_rows, "row")
    return None


def _nothing_at_work(layout: Layout, before: int) -> str:
    verb = "is" if before == 1 else "are"
    if layout.table.role is Role.USERS:
        return f"{layout.name}: nobody could log in ({counted(before, 'user')} can now)"
    return f"{layout.name}: no rule would be active ({before} {verb} now)"


def _at_work(layout: Layout, rows: Rows) -> int:
    """Return the number of active rows; of users, those that can log in."""
    needed = [layout.index[n] for n in ("active", "frontend") if n in layout.index]
    return sum(1 for row in rows.values() if all(row[position] == 1 for position in needed))


def _gone(module: ModulePlan, diff: TableDiff) -> int:
    """Return the number of lost rows, without moved servers and deactivated rows."""
    table, layout = diff.layout.name, diff.layout
    changes = module.changes
    if not any(change.shown.desired is None for change in changes):
        return 0  # such as a first apply, with many rows
    changes = [one for one in changes if one.table == table]
    place = diff.place or (lambda key: key)
    added = {_node(layout, change.key) for change in changes if change.action == ADD}
    # A deactivated row leaves RUNTIME, but is not lost.
    wanted = diff.desired.rows if diff.desired else ()
    remaining = {place(key) for keys in (wanted, diff.target) for key in keys}
    gone = {
        place(change.key)
        for change in changes
        if change.action == DELETE and _node(layout, change.key) not in added
    }
    return len(gone - remaining)


def _node(layout: Layout, key: Key) -> Key:
    """Return the identity of a server across hostgroups; for other rows the key."""
    return key[1:] if layout.table.role is Role.SERVERS else key
