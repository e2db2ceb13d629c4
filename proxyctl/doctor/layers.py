"""Layers of this instance that are out of step, and what waits for a restart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import ADMIN_MODULES, AdminModule
from proxyctl.compare import Difference
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import listed
from proxyctl.drains import goes_on_with, not_finished
from proxyctl.families import FAMILY_TABLES, families_in
from proxyctl.state import Key
from proxyctl.survey import TableSurvey


@check("not-loaded", Severity.WARNING)
def not_loaded(facts: Facts) -> Iterator[Finding]:
    """MEMORY holds edits that are not at RUNTIME: the next LOAD of anybody makes them live."""
    for module in ADMIN_MODULES.values():
        rows = {name: _keys(found.unpublished) for name, found in _surveys(facts, module)}
        if not any(rows.values()):
            continue
        unsaved = any(
            {*rows[name]} & {*_keys(found.unsaved)} for name, found in _surveys(facts, module)
        )
        event = "the next LOAD" if unsaved else "the next LOAD, or a restart,"
        undo = "put MEMORY right, by hand or with `proxyctl apply`"
        if all(_disk_has_what_runs(found) for _, found in _surveys(facts, module)):
            undo = f"LOAD {module.name} FROM DISK"
        way_out = f"if it is wanted, LOAD {module.name} TO RUNTIME; if not, {undo}"
        if _is_placement(facts, rows):
            way_out = (
                "switch the monitor on (variables: {mysql-monitor_enabled: true}): it had placed"
                " these nodes, and after a LOAD without it nobody moves them back"
            )
        yield Finding(
            module.name,
            f"MEMORY is not what runs: {_shown(rows)}; {event} makes it live",
            way_out,
        )


def _is_placement(facts: Facts, rows: Mapping[str, list[Key]]) -> bool:
    """Return whether all that differs is where the monitor had put nodes before it was off."""
    if facts.is_on("mysql-monitor_enabled") or {n for n in rows if rows[n]} != {"mysql_servers"}:
        return False
    tables = {name: facts.surveys[name] for name in FAMILY_TABLES if name in facts.surveys}
    families = families_in(
        {name: found.layout for name, found in tables.items()},
        {name: found.memory.values() for name, found in tables.items()},
        rds_discovery=False,
    )
    placed = {hostgroup for family in families for hostgroup in family.hostgroups}
    # An edit of a row that both layers have is somebody's own.
    return all(
        one.key[0] in placed and not one.columns
        for one in facts.surveys["mysql_servers"].unpublished
    )


@check("not-saved", Severity.WARNING)
def not_saved(facts: Facts) -> Iterator[Finding]:
    """What runs is not on DISK: a restart brings the old configuration back."""
    for module in ADMIN_MODULES.values():
        rows = {
            name: _keys(found.unsaved, but=found.unpublished)
            for name, found in _surveys(facts, module)
        }
        if any(rows.values()):
            yield Finding(
                module.name,
                f"what runs is not on DISK: {_shown(rows)}; a restart brings the old state back",
                f"if it is wanted, SAVE {module.name} TO DISK; if not, LOAD {module.name} FROM DISK"
                f" and LOAD {module.name} TO RUNTIME",
            )


@check("dead-apply", Severity.WARNING)
def dead_apply(facts: Facts) -> Iterator[Finding]:
    """An apply or a drain died on the way, and what it had written may still stand in MEMORY."""
    if facts.dead_apply and not _is_over(facts):
        yield Finding(
            "lock",
            not_finished(facts.dead_apply),
            goes_on_with(facts.dead_apply),
        )


@check("dead-apply-over", Severity.INFO)
def dead_apply_over(facts: Facts) -> Iterator[Finding]:
    """An apply died on the way, and by now its modules hold the same in all layers."""
    if facts.dead_apply and _is_over(facts):
        modules = ", ".join(sorted(facts.dead_modules))
        yield Finding(
            "lock",
            f"{not_finished(facts.dead_apply)}; {modules}: no layer differs, so that nothing is"
            " left of it but this record",
            "the next apply here removes the record",
        )


def _is_over(facts: Facts) -> bool:
    """Return whether nothing of what an apply had begun is half done any more.

    It may have been finished at another member of the cluster.
    """
    modules = [ADMIN_MODULES[name] for name in facts.dead_modules if name in ADMIN_MODULES]
    if not modules or len(modules) < len(facts.dead_modules):
        return False
    return not any(
        found.unpublished or found.unsaved
        for module in modules
        for _, found in _surveys(facts, module)
    )


@check("restart-pending", Severity.INFO)
def restart_pending(facts: Facts) -> Iterator[Finding]:
    """A variable that only a restart changes has another value on DISK."""
    for survey in facts.surveys.values():
        for key, row in survey.disk_restart_only.items():
            name, on_disk = str(key[0]), str(row[1])
            running = facts.variables.get(name)
            # An empty text on DISK stands for the default, which is what runs.
            if running is not None and on_disk and running != on_disk:
                yield Finding(
                    name,
                    f"it is {running} now, and {on_disk} after a restart",
                    "restart ProxySQL when it suits",
                )


def _surveys(facts: Facts, module: AdminModule) -> Iterator[tuple[str, TableSurvey]]:
    for table in module.tables:
        if table.name in facts.surveys:
            yield table.name, facts.surveys[table.name]


def _disk_has_what_runs(found: TableSurvey) -> bool:
    """Return whether DISK gives MEMORY what RUNTIME has, as far as that is plain to see."""
    runtime = {one.key: one.current for one in found.unpublished}
    return runtime == {one.key: one.current for one in found.unsaved}


def _keys(differences: Iterable[Difference], but: Iterable[Difference] = ()) -> list[Key]:
    """Return the keys, each once and in order, without those of `but`."""
    left_out = {one.key for one in but}
    return [key for key in dict.fromkeys(one.key for one in differences) if key not in left_out]


def _shown(rows: Mapping[str, list[Key]]) -> str:
    return "; ".join(_of_table(name, keys) for name, keys in rows.items() if keys)


def _of_table(name: str, keys: list[Key]) -> str:
    texts = listed(":".join(map(str, key)) for key in keys)
    return texts if name.endswith("_variables") else f"{name} {texts}"
