"""Layers that differ, and variables that wait for a restart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import ADMIN_MODULES
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, listed
from proxyctl.plan.diff import TableDiff
from proxyctl.state.compare import Difference
from proxyctl.state.row import Key, row_name


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the admin modules whose layers differ, and the variables that wait for a restart."""
    for module in ADMIN_MODULES.values():
        diffs = {t.name: facts.diffs[t.name] for t in module.tables if t.name in facts.diffs}
        unloaded = {name: _keys(found.unpublished) for name, found in diffs.items()}
        unsaved = {
            name: [key for key in _keys(found.unsaved) if key not in unloaded[name]]
            for name, found in diffs.items()
        }
        if any(unloaded.values()):
            yield Finding(
                "not-loaded",
                module.name,
                f"edited in MEMORY, not loaded to RUNTIME: {_rows_text(diffs, unloaded)}; the next"
                " LOAD publishes this",
                f"{_publish(facts, module.name)}; to take it back, see `proxyctl plan`",
            )
        if any(unsaved.values()):
            yield Finding(
                "not-saved",
                module.name,
                f"at RUNTIME, not saved to DISK: {_rows_text(diffs, unsaved)}; a restart reverts"
                " this",
                f"to keep it, SAVE {module.name} TO DISK; to take it back,"
                f" LOAD {module.name} FROM DISK, then LOAD {module.name} TO RUNTIME",
            )
    yield from _restart_pending(facts)


def _publish(facts: Facts, module: str) -> str:
    """Return what publishes MEMORY. A plain LOAD of servers moves monitored nodes."""
    if module == "MYSQL SERVERS" and facts.families:
        return "to publish it, put it into the files and `proxyctl apply`: a LOAD would move nodes"
    return f"to publish it, LOAD {module} TO RUNTIME"


def _restart_pending(facts: Facts) -> Iterator[Finding]:
    for diff in facts.diffs.values():
        for key, row in diff.restart_only.items():
            name, on_disk = str(key[0]), str(row[1])
            running = facts.variables.get(name)
            # An empty text on DISK stands for the default, which is what runs.
            if running is not None and on_disk and running != on_disk:
                yield Finding(
                    "restart-pending",
                    name,
                    f"{running} now, {on_disk} after a restart",
                    "restart ProxySQL",
                )


def _keys(differences: Iterable[Difference]) -> list[Key]:
    return list(dict.fromkeys(one.key for one in differences))


def _rows_text(diffs: Mapping[str, TableDiff], rows: Mapping[str, list[Key]]) -> str:
    names = (
        dict.fromkeys(row_name(diffs[name].layout.name, key) for key in keys)
        for name, keys in rows.items()
    )
    return "; ".join(listed(one) for one in names if one)
