"""Guards: transitions that are too dangerous to happen without being asked for. Pure.

A guard judges what an apply would change, never a state: a hostgroup that always was empty is no
transition. Each refusal names the way to allow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import Layout, Value
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
    return key[1:] if layout.name.endswith("_servers") and len(key) == 3 else key


def emptied_hostgroups(
    module: ModulePlan,
    families: Iterable[Family],
    used: frozenset[Value],
    names: Mapping[int, str],
) -> Iterator[str]:
    """Yield a message for each used hostgroup that has an ONLINE server now and would have none.

    Afterwards is what the last LOAD brings. Outside families a SHUNNED server counts as ONLINE now:
    ProxySQL tries it again. `module`: MYSQL SERVERS.
    """
    survey = module.surveys["mysql_servers"]
    layout = survey.layout
    if not survey.changes[Layer.RUNTIME]:
        return
    loaded = module.images[-1]["mysql_servers"] if module.images else survey.target
    in_families = {hostgroup for family in families for hostgroup in family.hostgroups}
    shunned = _having(layout, survey.runtime or {}, "SHUNNED") - in_families
    before = _served(layout, survey.runtime or {}, families) | shunned
    after = _served(layout, loaded, families)

    def shown(hostgroup: Value) -> str:
        name = names.get(hostgroup) if isinstance(hostgroup, int) else None
        return f"{hostgroup} ({name})" if name else str(hostgroup)

    waiting = _families_of_waiting_nodes(layout, loaded, families)
    for hostgroup in sorted((before - after) & used, key=str):
        message = f"hostgroup {shown(hostgroup)} is used by rules or users and would have no ONLINE"
        message += " server"
        family = waiting.get(hostgroup)
        if family is not None:
            message += f" until the monitor takes the new nodes out of {shown(family.offline)}; add"
            message += " them in one apply and remove the old ones in the next"
        yield message


def _served(layout: Layout, rows: Rows, families: Iterable[Family]) -> frozenset[Value]:
    """Return the hostgroups with an ONLINE server.

    The monitor fills all hostgroups of a family from one healthy node. The offline hostgroup is
    where it keeps the others.
    """
    online = _having(layout, rows, "ONLINE")
    for family in families:
        healthy = family.hostgroups - {family.offline}
        if online & healthy:
            online |= healthy
    return frozenset(online)


def _having(layout: Layout, rows: Rows, status: str) -> set[Value]:
    """Return the hostgroups with a server whose status begins so."""
    hostgroup, position = layout.index["hostgroup_id"], layout.index["status"]
    return {
        row[hostgroup] for row in rows.values() if str(row[position]).upper().startswith(status)
    }


def _families_of_waiting_nodes(
    layout: Layout, loaded: Rows, families: Iterable[Family]
) -> dict[Value, Family]:
    """Return, by hostgroup, the families with nodes that wait in the offline hostgroup."""
    online = _having(layout, loaded, "ONLINE")
    return {
        hostgroup: family
        for family in families
        if family.offline in online
        for hostgroup in family.hostgroups
    }
