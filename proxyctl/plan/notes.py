"""Notes of a plan: rows that it leaves alone, and side effects of a LOAD. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from proxyctl.catalog import Role, Value, Version
from proxyctl.catalog.releases import (
    FAST_ROUTING_BEHIND_LAST_RULE,
    beyond_catalogue,
)
from proxyctl.catalog.variables import RESTART_TO_TAKE_EFFECT
from proxyctl.config.sections.routing import COMMENT
from proxyctl.instance.cluster import MODULES, Membership
from proxyctl.plan.change import ADD, DELETE, Change
from proxyctl.plan.diff import ServerDiff, TableDiff
from proxyctl.plan.instance_state import InstanceState
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.proxysql.servers import server_reader
from proxyctl.proxysql.topology import Family, Topology, node_text
from proxyctl.rows.row import KEEP, Key, Layer, named_rows
from proxyctl.text import counted, printable

_IN_LAYER = {
    Layer.RUNTIME: "at RUNTIME",
    Layer.MEMORY: "in MEMORY",
    Layer.DISK: "on DISK",
}


def left_alone(diffs: Iterable[TableDiff]) -> Iterator[str]:
    """Yield what a plan leaves alone: what the files do not mention, and the rows of plugins."""
    of_plugins: Counter[str] = Counter()
    for diff in diffs:
        yield from _left_alone_in(diff)
        of_plugins.update(diff.of_plugins)
    for plugin, rows in sorted(of_plugins.items()):
        yield f"{counted(rows, 'row')} of plugin {plugin}"


def _left_alone_in(diff: TableDiff) -> Iterator[str]:
    """Yield what a plan leaves alone in a table, because the files do not mention it."""
    table = diff.layout.name
    scope = diff.desired.scope if diff.desired and not diff.layout.table.prefix else None
    if scope and diff.unowned:
        yield f"{table}: {counted(diff.unowned, 'row')} outside {scope.text}"
    if not isinstance(diff, ServerDiff):
        return
    yield from out_of_service(diff)
    for host, port in diff.discovered:
        yield f"{host}:{port} discovered by the monitor"
    if diff.draining:
        yield f"{named_rows(table, diff.draining)} OFFLINE_HARD, draining"


def out_of_service(diff: TableDiff) -> Iterator[str]:
    """Yield the servers that an operator removed from service, if the files leave that alone."""
    if not isinstance(diff, ServerDiff):
        return
    staying = {(key[1], key[2]) for key in diff.target} if diff.drained else set()
    for node in sorted(diff.drained & staying, key=node_text):
        yield f"{node_text(node)} drained"
    yield from _statuses(diff)


def _statuses(diff: ServerDiff) -> Iterator[str]:
    """Yield the servers with a status other than ONLINE that no file sets.

    ProxySQL itself sets SHUNNED at RUNTIME alone, and undoes it.
    """
    if diff.desired is None:
        return
    status = diff.layout.index["status"]
    layers = {
        Layer.RUNTIME: diff.runtime,
        Layer.MEMORY: diff.memory,
        Layer.DISK: diff.disk,
    }
    for key, wanted in diff.desired.rows.items():
        if wanted[status] is not KEEP or key[1:3] in diff.drained:
            continue
        statuses = {
            layer: str(rows[key][status]).upper() for layer, rows in layers.items() if key in rows
        }
        at_runtime = statuses.get(Layer.RUNTIME, "")
        if key not in diff.shunned and at_runtime.startswith("SHUN"):
            del statuses[Layer.RUNTIME]
        unusual = {layer: text for layer, text in statuses.items() if text != "ONLINE"}
        if unusual:
            name = f"{_name_prefix(diff)}{key[1]}:{key[2]} in hostgroup {key[0]}"
            remark = "set by an operator"
            if key in diff.shunned:
                remark = "which ProxySQL never undoes: write `status: ONLINE`"
            yield f"{name} {_status_text(unusual)}, {remark}"


def _status_text(statuses: Mapping[Layer, str]) -> str:
    """Return `OFFLINE_SOFT`, with its layers unless it is in all of them."""
    texts = {
        status: [_IN_LAYER[layer] for layer, text in statuses.items() if text == status]
        for status in statuses.values()
    }
    return ", ".join(
        status if len(where) == len(Layer) else f"{status} {' and '.join(where)}"
        for status, where in texts.items()
    )


def entering_servers(module: ModulePlan, topology: Topology) -> dict[Key, Family]:
    """Return the family of each new node that is loaded into the entrance of the family.

    The rows of these nodes name other hostgroups.
    """
    servers = module.servers
    if servers is None or not module.images:
        return {}
    table = servers.layout.name
    loaded = module.images[-1].get(table, {})
    added = [
        change.key
        for change in module.changes
        if change.table == table and change.action == ADD and change.key not in loaded
    ]
    return {
        key: family
        for family in topology.of_servers(servers.layout).families
        for key in added
        if key[0] in family.hostgroups and (family.entrance, *key[1:]) in loaded
    }


def further_writers(module: ModulePlan, servers: ServerDiff, topology: Topology) -> Iterator[str]:
    """Yield the replication families that have a writer, and the nodes that enter them."""
    added: dict[Family, list[str]] = {}
    for (_, host, port), family in entering_servers(module, topology).items():
        if not family.is_galera:
            added.setdefault(family, []).append(node_text((host, port)))
    for family, names in added.items():
        writers = [
            node_text(server.node)
            for server in map(server_reader(servers.layout), servers.runtime.values())
            if server.hostgroup == family.writer and not server.drained_by
        ]
        yield (
            f"{_name_prefix(servers)}hostgroup {family.writer} has a writer at RUNTIME"
            f" ({', '.join(writers)}); this adds {', '.join(names)}, and the monitor makes every"
            " node that is not read-only a writer"
        )


def with_remarks(
    module: ModulePlan, topology: Topology, hostgroup_names: Mapping[int, str]
) -> ModulePlan:
    """Return the module with a remark on each change that needs one.

    `topology`: the families that the monitor will place.
    """
    entering, moved = entering_servers(module, topology), _renumbered_rules(module)
    if not (entering or moved):
        return module

    def remarked(change: Change) -> Change:
        text = moved.get((change.table, change.key), "")
        family = entering.get(change.key)
        if family is not None and change.layout.table.role is Role.SERVERS and change.action == ADD:
            text = _entrance_text(family, hostgroup_names)
        return change._replace(remark=text) if text else change

    return replace(module, changes=[*map(remarked, module.changes)])


def _entrance_text(family: Family, names: Mapping[int, str]) -> str:
    entrance = family.entrance
    role = "offline" if family.is_galera else "reader"
    name = names.get(entrance, role) if isinstance(entrance, int) else role
    return f"enters through {entrance} ({printable(name)}); the monitor places it"


def _renumbered_rules(module: ModulePlan) -> dict[tuple[str, Key], str]:
    """Return remarks on rules that only get another rule_id, by table and key, old and new.

    If several deleted or added rules have the same columns, none of them gets a remark.
    """
    pairs: dict[object, dict[str, list[Change]]] = {}
    if not module.counts()[DELETE]:
        return {}  # a first apply has many new rules
    for change in module.changes:
        if change.layout.table.role is Role.RULES and change.action in (ADD, DELETE):
            other_columns = tuple(value for name, value in change.row.items() if name != "rule_id")
            pair = pairs.setdefault((change.table, other_columns), {ADD: [], DELETE: []})
            pair[change.action].append(change)
    remarks: dict[tuple[str, Key], str] = {}
    for pair in pairs.values():
        if len(pair[ADD]) == len(pair[DELETE]) == 1:
            (added,), (deleted,) = pair[ADD], pair[DELETE]
            remarks[added.table, added.key] = f"renumbered: this was rule {deleted.key[0]}"
            remarks[deleted.table, deleted.key] = f"renumbered: this becomes rule {added.key[0]}"
    return remarks


def warnings(
    modules: Sequence[ModulePlan], topology: Topology, current: InstanceState
) -> Iterator[str]:
    """Yield warnings about these changes, except for those of guards.

    `topology`: the families that the monitor will place.
    """
    if current.info.facts.is_read_only and not all(module.is_in_sync for module in modules):
        yield (
            "the admin interface is read-only (admin-read_only): an apply needs PROXYSQL READWRITE"
        )
    yield from of_the_release(modules, current.info.version)
    yield from shared_families(topology)
    for module in modules:
        yield from (f"{module.name}: {text}" for text in monitor_placement(module))
        if module.servers is not None and module.load:
            yield from further_writers(module, module.servers, topology)
            yield from unshunned(module, module.servers, topology)
            used = current.connections.get(module.servers.layout.name, {})
            staying = {key[1:] for key in module.images[-1][module.servers.layout.name]}
            yield from cut_connections(
                leaving_servers(module), used, _name_prefix(module.servers), staying=staying
            )
    if current.membership.has_peers:
        yield from not_synchronised(modules, current.membership)
        yield from not_answering(modules, current)


def not_read(modules: Iterable[ModulePlan], current: InstanceState) -> Iterator[str]:
    """Yield the tables whose rows no check of these changes knows, since they are too many."""
    if not all(module.is_in_sync for module in modules):
        for name, count in current.counted.items():
            yield (
                f"{name}: {count:,} rows that the files do not manage were counted, not read: lint"
                " and the guard of shard moves do not consider them"
            )


_NOT_NEEDED = f"ProxySQL {FAST_ROUTING_BEHIND_LAST_RULE} and newer do not need it"


def of_the_release(modules: Iterable[ModulePlan], version: Version) -> Iterator[str]:
    """Yield what this release of ProxySQL lacks or does not need."""
    changes = [change for module in modules for change in module.changes]
    if changes and (reason := beyond_catalogue(version)):
        yield f"ProxySQL {reason}: columns and variables that proxyctl does not know are left alone"
    for change in changes if version.has(FAST_ROUTING_BEHIND_LAST_RULE) else ():
        if change.action == DELETE and COMMENT in (change.before or ()):
            yield f"{change.table}: rule {change.key[0]} kept fast routing alive; {_NOT_NEEDED}"


def shared_families(topology: Topology) -> Iterator[str]:
    """Yield the families whose nodes several monitors place."""
    for family in topology.families:
        if family.also:
            kinds = ", ".join((family.kind, *family.also))
            hostgroups = ", ".join(map(str, sorted(family.hostgroups, key=str)))
            yield (
                f"hostgroups {hostgroups} belong to rows of several monitors ({kinds}), which move"
                " each other's nodes"
            )


def left_by_interrupted_apply(
    modules: Iterable[ModulePlan], leftovers: Mapping[str, bool]
) -> Iterator[str]:
    """Yield the modules that an interrupted apply had staged, and what the next one does with them.

    `leftovers`: by module, whether its MEMORY equalled DISK before.
    """
    for module in modules:
        if leftovers.get(module.name):
            yield (
                f"{module.name}: a command was killed while it wrote MEMORY; the next apply begins"
                f" with LOAD {module.name} FROM DISK, and this plan assumes it"
            )
        elif module.name in leftovers:
            yield (
                f"{module.name}: a command was killed while it wrote MEMORY, which held edits"
                " that are not on DISK: see the pending edits"
            )


def leaving_servers(module: ModulePlan) -> frozenset[Key]:
    """Return the servers at RUNTIME that the last LOAD of the module removes."""
    servers = module.servers
    if servers is None:
        return frozenset()
    image = module.images[-1][servers.layout.name] if module.images else {}
    loaded = runtime_image(servers.layout, image)
    return frozenset(key for key in servers.runtime if key not in loaded)


def cut_connections(
    leaving: frozenset[Key],
    used: Mapping[Key, int],
    prefix: str = "",
    *,
    staying: Collection[Key] = frozenset(),
) -> Iterator[str]:
    """Yield how many connections in use are cut, by server.

    `used`: as the instance counts them; `staying`: host and port of servers that keep a hostgroup,
    which a drain would take out of service there.
    """
    for key, count in sorted(used.items(), key=repr):
        if key not in leaving:
            continue
        advice = f"drain it first: proxyctl nodes drain {key[1]}:{key[2]}"
        if prefix:
            advice = "drain it first: status: OFFLINE_SOFT in an apply before this one"
        if key[1:] in staying:
            advice = "apply when their sessions have ended"
        yield (
            f"{prefix}{key[1]}:{key[2]} leaves hostgroup {key[0]}:"
            f" {counted(count, 'connection')} in use will be cut; {advice}"
        )


def unshunned(module: ModulePlan, servers: ServerDiff, topology: Topology) -> Iterator[str]:
    """Yield the servers that ProxySQL itself has SHUNNED and that the LOAD sets ONLINE."""
    image = module.images[-1].get(servers.layout.name, {}) if module.images else {}
    families = topology.of_servers(servers.layout).families
    writers = {family.writer for family in families if family.is_galera}
    status, prefix = servers.layout.index["status"], _name_prefix(servers)
    shunned: dict[Value, list[str]] = {}
    for key, row in servers.runtime.items():
        loaded = image.get(key)
        is_own = str(row[status]).startswith("SHUNNED") and key not in servers.shunned
        if not (is_own and loaded and loaded[status] == "ONLINE"):
            continue
        name = f"{row[1]}:{row[2]}"
        if key[0] in writers:
            yield f"{name} becomes the writer in hostgroup {row[0]}: the current one leaves"
        else:
            shunned.setdefault(row[0], []).append(f"{prefix}{name}")
    for hostgroup, names in shunned.items():
        are, them = ("is", "it") if len(names) == 1 else ("are", "them")
        where = f"{', '.join(names)} in hostgroup {hostgroup}"
        yield f"{where} {are} SHUNNED; the LOAD sets {them} ONLINE"


def monitor_placement(module: ModulePlan) -> Iterator[str]:
    """Yield the layers of servers that differ only by where the monitor had placed their nodes."""
    if module.servers is not None and module.servers.as_placed:
        layers = " and ".join(layer.name for layer in module.servers.as_placed)
        verb = "hold" if len(module.servers.as_placed) > 1 else "holds"
        yield (
            f"{layers} {verb} the nodes where the monitor had placed them, as after SAVE"
            f" {module.name} FROM RUNTIME; an apply will write the rows of the files again without"
            " moving any node"
        )


def _name_prefix(diff: TableDiff) -> str:
    """Return the prefix of a server's name: empty for MySQL."""
    return "pgsql " if diff.layout.name == "pgsql_servers" else ""


def restart_required(modules: Iterable[ModulePlan]) -> Iterator[str]:
    """Yield the changed variables that take effect after a restart."""
    for module in modules:
        if not module.name.endswith("VARIABLES"):
            continue
        for change in module.changes:
            if change.key[0] in RESTART_TO_TAKE_EFFECT:
                yield str(change.key[0])


_ACTIVE_ONLY = ("mysql_query_rules", "mysql_users")
"""The tables whose inactive rows members do not synchronise."""


def not_synchronised(modules: Sequence[ModulePlan], membership: Membership) -> Iterator[str]:
    """Yield the changes of these plans that the other members do not copy."""
    changed = [module for module in modules if module.does_something]
    staying = [module.name for module in changed if membership.name_of(module.name) is None]
    if staying:
        verb = "does" if len(staying) == 1 else "do"
        yield f"{', '.join(staying)} {verb} not synchronise with other members: apply to each"
    for module in changed:
        own = {str(change.key[0]): None for change in module.changes if change.is_members_own}
        if own:
            yield f"{', '.join(own)}: each member has its own value; apply to each"
        for name, diff in module.diffs.items():
            rows = module.final.get(name, diff.target)
            active = diff.layout.index.get("active")
            if name not in _ACTIVE_ONLY or active is None or not module.images:
                continue
            inactive = [key for key, row in rows.items() if row[active] == 0]
            if inactive:
                verbs = "is inactive and stays" if len(inactive) == 1 else "are inactive and stay"
                yield (
                    f"{named_rows(name, inactive)} {verbs} here; the other members copy the"
                    " active ones and drop their own inactive ones"
                )


def not_answering(modules: Iterable[ModulePlan], current: InstanceState) -> Iterator[str]:
    """Yield the members that never answered this member, if the changes synchronise."""
    membership = current.membership
    if not any(module.load and membership.name_of(module.name) is not None for module in modules):
        return
    for member in membership.listed:
        if not any(seen.is_known for seen in member.checksums.values()):
            yield (
                f"{member.name} has never answered this member and will not follow: it is down,"
                " refuses admin-cluster_username, or has a different version from"
                f" {current.info.version_text}"
            )


def synchronised_modules(plans: Iterable[Plan]) -> set[str]:
    """Return the admin modules that these plans load and that other members synchronise."""
    return {
        module.name
        for plan in plans
        for module in plan.modules
        if module.images and module.name in MODULES.values()
    }
