"""Notes of a plan: what is left alone, and side effects of a LOAD. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.catalog import Role, Value, Version
from proxyctl.catalog.releases import (
    FAST_ROUTING_BEHIND_LAST_RULE,
    beyond_catalogue,
)
from proxyctl.catalog.variables import RESTART_TO_TAKE_EFFECT
from proxyctl.config.sections.routing import COMMENT
from proxyctl.errors import counted
from proxyctl.instance.cluster import MODULES, Membership
from proxyctl.plan.change import ADD, DELETE, Change
from proxyctl.plan.current import Current
from proxyctl.plan.diff import TableDiff
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.state.families import Family, families_of, node_text
from proxyctl.state.row import KEEP, Key, Layer
from proxyctl.state.runtime import runtime_image

_IN_LAYER = {
    Layer.RUNTIME: "at RUNTIME",
    Layer.MEMORY: "in MEMORY",
    Layer.DISK: "on DISK",
}


def left_alone(found: TableDiff) -> Iterator[str]:
    """Yield what a table holds that the files do not mention and that stays."""
    table = found.layout.name
    scope = found.desired.scope if found.desired and not found.layout.table.prefix else None
    if scope and found.unowned:
        yield f"{table}: {counted(found.unowned, 'row')} outside {scope.text}"
    yield from taken_out(found)
    for host, port in found.discovered:
        yield f"{host}:{port} discovered by the monitor"
    if found.draining:
        yield f"{table}: {counted(found.draining, 'row')} OFFLINE_HARD, draining"


def taken_out(found: TableDiff) -> Iterator[str]:
    """Yield the servers that an operator took out of service, if the files leave that alone."""
    staying = {(key[1], key[2]) for key in found.target} if found.drained else set()
    for node in sorted(found.drained & staying, key=node_text):
        yield f"{node_text(node)} drained"
    yield from _statuses(found)


def _statuses(found: TableDiff) -> Iterator[str]:
    """Yield the servers with a status other than ONLINE that no file sets.

    SHUNNED at RUNTIME alone was set by ProxySQL itself.
    """
    if not found.is_of_servers or found.desired is None:
        return
    status = found.layout.index["status"]
    layers = {
        Layer.RUNTIME: found.runtime,
        Layer.MEMORY: found.memory,
        Layer.DISK: found.disk,
    }
    for key, wanted in found.desired.rows.items():
        if wanted[status] is not KEEP or key[1:3] in found.drained:
            continue
        held = {
            layer: str(rows[key][status]).upper() for layer, rows in layers.items() if key in rows
        }
        if held.get(Layer.MEMORY) != "SHUNNED" and held.get(Layer.RUNTIME, "").startswith("SHUN"):
            del held[Layer.RUNTIME]
        out = {layer: text for layer, text in held.items() if text != "ONLINE"}
        if out:
            name = f"{_kind(found)}{key[1]}:{key[2]} in hostgroup {key[0]}"
            yield f"{name} {_status_text(out)}, set by an operator"


def _status_text(out: Mapping[Layer, str]) -> str:
    """Return `OFFLINE_SOFT`, with the layers unless all have it."""
    texts = {
        status: [_IN_LAYER[layer] for layer, text in out.items() if text == status]
        for status in out.values()
    }
    return ", ".join(
        status if len(where) == len(Layer) else f"{status} {' and '.join(where)}"
        for status, where in texts.items()
    )


def entering_servers(module: ModulePlan, families: Iterable[Family]) -> dict[Key, Value]:
    """Return the new nodes that enter through another hostgroup than configured, and which.

    A node that joins a placed Galera family is loaded into the offline hostgroup first: otherwise
    it would be a second writer.
    """
    if "mysql_servers" not in module.diffs:
        return {}
    loaded = module.images[-1].get("mysql_servers", {}) if module.images else {}
    added = {
        change.key
        for change in module.changes
        if change.table == "mysql_servers" and change.action == ADD
    }
    return {
        key: family.offline
        for family in families
        if family.is_galera and family.offline is not None
        for key in added
        if key[0] in family.hostgroups
        and key not in loaded
        and (family.offline, *key[1:]) in loaded
    }


def renumbered_rules(module: ModulePlan) -> dict[tuple[str, Key], str]:
    """Return notes for the rules of which only the rule_id changes, at the old and the new one.

    Two rules that go, or come, with the same columns are left out: nobody knows which is which.
    """
    pairs: dict[object, dict[str, list[Change]]] = {}
    if not module.counts()[DELETE]:
        return {}  # a first apply has many new rules, and looks at few
    for change in module.changes:
        if change.layout.table.role is Role.RULES and change.action in (ADD, DELETE):
            rest = tuple(value for name, value in change.row.items() if name != "rule_id")
            same = pairs.setdefault((change.table, rest), {ADD: [], DELETE: []})
            same[change.action].append(change)
    found: dict[tuple[str, Key], str] = {}
    for same in pairs.values():
        if len(same[ADD]) == len(same[DELETE]) == 1:
            (new,), (old,) = same[ADD], same[DELETE]
            found[new.table, new.key] = f"renumbered: this was rule {old.key[0]}"
            found[old.table, old.key] = f"renumbered: this becomes rule {new.key[0]}"
    return found


def warnings(
    modules: Sequence[ModulePlan], families: Sequence[Family], current: Current
) -> Iterator[str]:
    """Yield warnings about these changes, other than those of guards.

    `families`: those that the monitor will place.
    """
    if current.look.facts.is_read_only and not all(module.is_in_sync for module in modules):
        yield (
            "the admin interface is read-only (admin-read_only): an apply needs PROXYSQL READWRITE"
        )
    yield from of_the_release(modules, current.look.version)
    yield from shared_families(families)
    for module in modules:
        yield from (f"{module.name}: {text}" for text in saved_placement(module))
        if module.servers is not None and module.load:
            yield from unshunned(module, module.servers, families)
            used = current.connections.get(module.servers.layout.name, {})
            yield from cut_connections(leaving_servers(module), used, _kind(module.servers))
    if current.membership.has_peers:
        yield from not_travelling(modules, current.membership)
        yield from not_answering(modules, current)


_NEEDLESS = f"which ProxySQL needs no longer from {FAST_ROUTING_BEHIND_LAST_RULE} on"


def of_the_release(modules: Iterable[ModulePlan], version: Version) -> Iterator[str]:
    """Yield what this release of ProxySQL does with the changes that its successors do not."""
    changes = [change for module in modules for change in module.changes]
    if changes and (reason := beyond_catalogue(version)):
        yield f"ProxySQL {reason}: columns and variables that proxyctl does not know are left alone"
    for change in changes if version.has(FAST_ROUTING_BEHIND_LAST_RULE) else ():
        held = change.shown.current
        if change.action == DELETE and held is not None and COMMENT in held:
            yield f"{change.table}: rule {change.key[0]} kept fast routing alive, {_NEEDLESS}"


def shared_families(families: Iterable[Family]) -> Iterator[str]:
    """Yield the families whose nodes several monitors place."""
    for family in families:
        if family.also:
            kinds = ", ".join((family.kind, *family.also))
            hostgroups = ", ".join(map(str, sorted(family.hostgroups, key=str)))
            yield (
                f"hostgroups {hostgroups} belong to rows of several monitors ({kinds}), which move"
                " each other's nodes"
            )


def left_by_dead_apply(
    modules: Iterable[ModulePlan], leftovers: Mapping[str, bool]
) -> Iterator[str]:
    """Yield what an apply that died had staged, and what becomes of it.

    `leftovers`: whether MEMORY of a module was what DISK held before.
    """
    for module in modules:
        if leftovers.get(module.name):
            yield (
                f"{module.name}: a command was killed while it wrote MEMORY; the next apply begins"
                f" with LOAD {module.name} FROM DISK, and this plan assumes that"
            )
        elif module.name in leftovers:
            yield (
                f"{module.name}: a command was killed while it wrote MEMORY, which held edits"
                " that are not on DISK: see the pending edits"
            )


def leaving_servers(module: ModulePlan) -> frozenset[Key]:
    """Return the servers that RUNTIME has and no more after the last LOAD of the module."""
    servers = module.servers
    if servers is None:
        return frozenset()
    image = module.images[-1][servers.layout.name] if module.images else {}
    loaded = runtime_image(servers.layout, image)
    return frozenset(key for key in servers.runtime if key not in loaded)


def cut_connections(
    leaving: frozenset[Key], used: Mapping[Key, int], kind: str = ""
) -> Iterator[str]:
    """Yield how many connections in use are cut, by server. `used`: counted at the instance."""
    for key, count in sorted(used.items(), key=repr):
        if key in leaving:
            drain = (
                "status: OFFLINE_SOFT in an apply before this one"
                if kind
                else f"proxyctl nodes drain {key[1]}:{key[2]}"
            )
            yield (
                f"{kind}{key[1]}:{key[2]} leaves hostgroup {key[0]}:"
                f" {counted(count, 'connection')} in use will be cut; drain it first: {drain}"
            )


def unshunned(module: ModulePlan, servers: TableDiff, families: Iterable[Family]) -> Iterator[str]:
    """Yield the servers that ProxySQL itself has SHUNNED and that the LOAD sets ONLINE."""
    image = module.images[-1].get(servers.layout.name, {}) if module.images else {}
    mine = families_of(servers.layout, families)
    writers = {family.writer for family in mine if family.is_galera}
    status, kind = servers.layout.index["status"], _kind(servers)
    shunned: dict[Value, list[str]] = {}
    for key, row in servers.runtime.items():
        loaded = image.get(key)
        if not (str(row[status]).startswith("SHUNNED") and loaded and loaded[status] == "ONLINE"):
            continue
        name = f"{row[1]}:{row[2]}"
        if key[0] in writers:
            yield f"{name} becomes the writer in hostgroup {row[0]}: the current one leaves"
        else:
            shunned.setdefault(row[0], []).append(f"{kind}{name}")
    for hostgroup, names in shunned.items():
        are, them = ("is", "it") if len(names) == 1 else ("are", "them")
        where = f"{', '.join(names)} in hostgroup {hostgroup}"
        yield f"{where} {are} SHUNNED; the LOAD sets {them} ONLINE"


def saved_placement(module: ModulePlan) -> Iterator[str]:
    """Yield that rows of servers differ only by where the monitor had placed their nodes."""
    if module.servers is not None and module.servers.as_placed:
        layers = " and ".join(layer.name for layer in module.servers.as_placed)
        verb = "hold" if len(module.servers.as_placed) > 1 else "holds"
        yield (
            f"{layers} {verb} the nodes where the monitor had placed them, as after"
            f" SAVE {module.name} FROM RUNTIME; an apply writes the rows of the files again and"
            " moves no node"
        )


def _kind(servers: TableDiff) -> str:
    """Return what stands before the name of a server that is none of MySQL."""
    return "pgsql " if servers.layout.name == "pgsql_servers" else ""


def restart_required(modules: Iterable[ModulePlan]) -> Iterator[str]:
    """Yield the changed variables that work only after a restart."""
    for module in modules:
        if not module.name.endswith("VARIABLES"):
            continue
        for change in module.changes:
            if change.key[0] in RESTART_TO_TAKE_EFFECT:
                yield str(change.key[0])


_ACTIVE_ONLY = {"mysql_query_rules": "rule", "mysql_users": "user"}
"""Tables of which members take the active rows only, and what a row is."""


def not_travelling(modules: Sequence[ModulePlan], membership: Membership) -> Iterator[str]:
    """Yield what these plans change that the other members do not take over."""
    changed = [module for module in modules if module.does_something]
    staying = [module.name for module in changed if membership.name_of(module.name) is None]
    if staying:
        verb = "does" if len(staying) == 1 else "do"
        yield f"{', '.join(staying)} {verb} not synchronise with other members: apply to each"
    for module in changed:
        own = {str(change.key[0]): None for change in module.changes if change.is_members_own}
        if own:
            yield f"{', '.join(own)}: each member has its own value; apply to each"
        for name, found in module.diffs.items():
            rows = module.final.get(name, found.target)
            active = found.layout.index.get("active")
            if name not in _ACTIVE_ONLY or active is None or not module.images:
                continue
            count = sum(1 for row in rows.values() if row[active] == 0)
            if count:
                inactive = counted(count, f"inactive {_ACTIVE_ONLY[name]}")
                yield (
                    f"{module.name}: {inactive} {'stays' if count == 1 else 'stay'} here; the other"
                    " members take the active ones, and drop their own inactive ones"
                )


def not_answering(modules: Iterable[ModulePlan], current: Current) -> Iterator[str]:
    """Yield the members that never answered this one, if the changes travel."""
    membership = current.membership
    if not any(one.load and membership.name_of(one.name) is not None for one in modules):
        return
    for member in membership.listed:
        if not any(seen.is_known for seen in member.checksums.values()):
            yield (
                f"{member.name} has never answered this member and will not follow: it is down,"
                " refuses admin-cluster_username, or has another version than"
                f" {current.look.version_text}"
            )


def travelling(plans: Iterable[Plan]) -> set[str]:
    """Return the admin modules that these plans load and that travel to other members."""
    return {
        module.name
        for plan in plans
        for module in plan.modules
        if module.images and module.name in MODULES.values()
    }
