"""Guards: transitions that are too dangerous to happen without being asked for. Pure.

A guard judges what an apply would change, never a state: a hostgroup that always was empty is no
transition. Each refusal names the way to allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import Layout, Role, Value
from proxyctl.families import Family
from proxyctl.plan import ADD, DELETE, ModulePlan, Refusal
from proxyctl.state import GuardLimits, Key, Layer, Rows
from proxyctl.survey import TableSurvey

FORCE = "--force"
NEVER_EMPTIED = ("mysql_servers", "mysql_users", "mysql_query_rules")


def guard_refusals(
    modules: Iterable[ModulePlan],
    limits: GuardLimits,
    families: Iterable[Family],
    used_hostgroups: frozenset[Value],
    names: Mapping[int, str],
) -> Iterator[Refusal]:
    """Yield every guard that refuses; all of them, so that one look shows the whole danger."""
    for module in modules:
        for survey in module.surveys.values():
            if survey.desired is None or survey.layout.table.prefix:
                continue
            yield from _too_many_deletes(module, survey, limits)
            if survey.layout.name == "mysql_servers" and limits.empty_hostgroup == "refuse":
                for message in emptied_hostgroups(module, families, used_hostgroups, names):
                    yield Refusal("empty_hostgroup", message, FORCE)


def _too_many_deletes(
    module: ModulePlan, survey: TableSurvey, limits: GuardLimits
) -> Iterator[Refusal]:
    table = survey.layout.name
    present = max(survey.memory_count, survey.runtime_count)
    changes = [change for change in module.changes if change.table == table]
    if not any(change.action == DELETE for change in changes):
        return
    place = survey.place or _itself
    added = {_node(survey.layout, change.key) for change in changes if change.action == ADD}
    # A row that the files deactivate leaves RUNTIME, but nothing is lost.
    still_there = set(map(place, survey.desired.rows)) if survey.desired else set()
    gone = {
        place(change.key)
        for change in changes
        if change.action == DELETE and _node(survey.layout, change.key) not in added
    } - still_there
    remaining = len(survey.target)
    if table in NEVER_EMPTIED and gone and remaining == 0:
        yield Refusal("table_emptied", f"{table}: all rows would be deleted ({present})", FORCE)
    elif present > limits.max_deletes_above_rows and (
        len(gone) * 100 > present * limits.max_deletes_percent
    ):
        yield Refusal(
            "max_deletes",
            f"{table}: {len(gone)} of {present} rows would be deleted"
            f" (guards.max_deletes: {limits.max_deletes_percent} percent)",
            FORCE,
        )


def _itself(key: Key) -> Key:
    return key


def _node(layout: Layout, key: Key) -> Key:
    """Return what stays the same when a server moves to another hostgroup; else the key."""
    return key[1:] if layout.table.role is Role.SERVERS else key


def emptied_hostgroups(
    module: ModulePlan,
    families: Iterable[Family],
    used: frozenset[Value],
    names: Mapping[int, str],
) -> Iterator[str]:
    """Yield a message for each used hostgroup that has an ONLINE server now and would have none.

    Afterwards is what the last LOAD brings. A SHUNNED server counts as ONLINE: ProxySQL tries it
    again. `module`: MYSQL SERVERS.
    """
    survey = module.surveys["mysql_servers"]
    layout = survey.layout
    if not survey.changes[Layer.RUNTIME]:
        return
    loaded = module.images[-1]["mysql_servers"] if module.images else survey.target
    runtime = survey.runtime or {}
    before = _serving(layout, runtime)
    after = _with_families(_serving(layout, loaded), families)

    def shown(hostgroup: Value) -> str:
        name = names.get(hostgroup) if isinstance(hostgroup, int) else None
        return f"{hostgroup} ({name})" if name else str(hostgroup)

    new = {key: row for key, row in loaded.items() if key not in runtime}
    waiting = _families_of_waiting_nodes(layout, new, families)
    for hostgroup in sorted((before - after) & used, key=str):
        message = f"hostgroup {shown(hostgroup)} is used by rules or users and would have no ONLINE"
        message += " server"
        family = waiting.get(hostgroup)
        if family is not None:
            message += f" until the monitor takes the new nodes out of {shown(family.offline)}; add"
            message += " them in one apply and remove the old ones in the next"
        yield message


def _serving(layout: Layout, rows: Rows) -> frozenset[Value]:
    """Return the hostgroups with a server that is ONLINE, or SHUNNED for the time being."""
    hostgroup, status = layout.index["hostgroup_id"], layout.index["status"]
    return frozenset(
        row[hostgroup]
        for row in rows.values()
        if str(row[status]).upper().startswith(("ONLINE", "SHUNNED"))
    )


def _with_families(serving: frozenset[Value], families: Iterable[Family]) -> frozenset[Value]:
    """Return the hostgroups that will serve: the monitor fills a family's from one healthy node.

    The offline hostgroup is where it keeps the others.
    """
    for family in families:
        healthy = family.hostgroups - {family.offline}
        if serving & healthy:
            serving |= healthy
    return serving


def _families_of_waiting_nodes(
    layout: Layout, new: Rows, families: Iterable[Family]
) -> dict[Value, Family]:
    """Return, by hostgroup, the families with new nodes that wait in the offline hostgroup."""
    entered = _serving(layout, new)
    return {
        hostgroup: family
        for family in families
        if family.offline in entered
        for hostgroup in family.hostgroups
    }
