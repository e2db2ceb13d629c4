"""Guards: too many rows of a table deleted at once, and emptied tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from proxyctl.catalog import Layout, Role
from proxyctl.plan.change import ADD, DELETE
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.guards import Danger
from proxyctl.plan.plan import ModulePlan
from proxyctl.rows.desired import GuardLimits
from proxyctl.rows.row import Key, Rows
from proxyctl.text import counted

MAX_DELETES, TABLE_EMPTIED = "max_deletes", "table_emptied"


NEVER_EMPTIED = frozenset(
    f"{protocol}_{table}"
    for protocol in ("mysql", "pgsql")
    for table in ("servers", "users", "query_rules")
)


def deletions(modules: Iterable[ModulePlan], limits: GuardLimits) -> Iterator[Danger]:
    """Yield the tables that would lose too many rows, or all active rows."""
    for module in modules:
        for name, diff in module.diffs.items():
            if diff.layout.table.prefix:
                continue
            deleted, present = (
                _deleted_rows(module, diff),
                max(diff.memory_count, diff.runtime_count),
            )
            if name in NEVER_EMPTIED and (reason := _emptied(module, diff, deleted, present)):
                yield Danger(TABLE_EMPTIED, *reason)
            elif limit := _exceeded_limit(deleted, present, limits):
                text = f"{name}: {deleted:,} of {present:,} rows would be deleted; the limit is"
                yield Danger(MAX_DELETES, f"{text} {limit}", _CHECK_FILES)


_CHECK_FILES = "check that -f names every file, and that `manage` leaves out the rows of others"


def _emptied(
    module: ModulePlan, diff: TableDiff, deleted: int, present: int
) -> tuple[str, str] | None:
    """Return the reason and the fix if a table would have no row or no active row."""
    table = diff.layout.name
    if not diff.target and deleted:
        text = f"{table}: nothing would be left; {counted(present, 'row')} would be deleted"
        return text, "check that -f names every file; without its section a table is left alone"
    if not module.at_runtime(table) or diff.layout.table.role is Role.SERVERS:
        return None
    before = _active_rows(diff.layout, diff.runtime)
    if before and not _active_rows(diff.layout, diff.target):
        return _nothing_active(diff.layout, before)
    return None


def _exceeded_limit(deleted: int, present: int, limits: GuardLimits) -> str | None:
    """Return the limit that this number of deletions exceeds; None if it exceeds none."""
    is_large = present > limits.max_deletes_above_rows
    if is_large and deleted * 100 > present * limits.max_deletes_percent:
        return f"{limits.max_deletes_percent} percent"
    if deleted > limits.max_deletes_rows:
        return counted(limits.max_deletes_rows, "row")
    return None


def _nothing_active(layout: Layout, before: int) -> tuple[str, str]:
    verb = "is" if before == 1 else "are"
    if layout.table.role is Role.USERS:
        text = f"{layout.name}: nobody could log in ({counted(before, 'user')} can now)"
        return text, "keep a user with `active` and `frontend` true"
    return f"{layout.name}: no rule would be active ({before} {verb} now)", "keep a rule active"


def _active_rows(layout: Layout, rows: Rows) -> int:
    """Return the number of active rows; for users, of those that can log in."""
    needed = [layout.index[n] for n in ("active", "frontend") if n in layout.index]
    return sum(1 for row in rows.values() if all(row[position] == 1 for position in needed))


def _deleted_rows(module: ModulePlan, diff: TableDiff) -> int:
    """Return the number of deleted rows, without moved servers and deactivated rows."""
    table, layout = diff.layout.name, diff.layout
    changes = module.changes
    if not any(change.action == DELETE for change in changes):
        return 0  # a first apply has many changes
    changes = [change for change in changes if change.table == table]
    identity = diff.identity
    added = {_node(layout, change.key) for change in changes if change.action == ADD}
    # A deactivated row leaves RUNTIME, but is not deleted.
    wanted = diff.desired.rows if diff.desired else ()
    remaining = {identity(key) for keys in (wanted, diff.target) for key in keys}
    deleted = {
        identity(change.key)
        for change in changes
        if change.action == DELETE and _node(layout, change.key) not in added
    }
    return len(deleted - remaining)


def _node(layout: Layout, key: Key) -> Key:
    """Return the key of a row; for a server without its hostgroup."""
    return key[1:] if layout.table.role is Role.SERVERS else key
