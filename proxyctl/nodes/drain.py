"""Drain and restore one node of an instance. Only RUNTIME changes.

    lock -> read MYSQL SERVERS -> refuse, or: LOAD the image -> LOAD FROM DISK -> read back

MEMORY holds the image for some milliseconds. MEMORY equals DISK before, so LOAD ... FROM DISK puts
MEMORY back. The lock records this, as for an apply: if the command is killed in between, the next
apply, drain or restore begins with that LOAD.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proxyctl.apply.request import SILENT, Reporter
from proxyctl.catalog import ADMIN_MODULES, Layout
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InstanceError,
    InternalError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
)
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import read_membership, wait_for_newer_epoch
from proxyctl.instance.facts import read_facts, used_connections
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.instance.lock import Lock, Reconnect
from proxyctl.instance.read import read_layouts, read_rows, read_tables
from proxyctl.nodes.drain_decision import (
    ServerState,
    configured_out,
    drained_image,
    objections,
    restored_image,
)
from proxyctl.plan import pending_edits
from proxyctl.plan.diff import TableDiff, diff_table
from proxyctl.plan.guards import members, mistyped
from proxyctl.plan.plan import plan_module
from proxyctl.proxysql.topology import (
    FAMILY_TABLES,
    MonitorSettings,
    Node,
    Topologies,
    Topology,
    node_text,
)
from proxyctl.rows.desired import DesiredTable, Scope, SourceWords
from proxyctl.rows.row import Layer, Rows
from proxyctl.rows.sql import Statement, transition
from proxyctl.text import counted

_SERVERS = ADMIN_MODULES["MYSQL SERVERS"]

_TABLE = "mysql_servers"

_DRAIN = SourceWords("the drain says", "part of the drain", "not part of the drain", "of the drain")

_FROM_DISK = "LOAD MYSQL SERVERS FROM DISK"

_STAGED = {_SERVERS.name: True}
"""In the lock: MEMORY of the servers equalled DISK before."""

_POLL_S = 0.2


@dataclass(frozen=True)
class NodeRequest:
    """A drain or restore of a node."""

    node: str
    """The node as the command line names it: HOST or HOST:PORT."""
    force: bool = False
    """Whether to drain it in spite of objections."""
    lock_timeout_s: float = 30.0
    """The longest wait for the lock. Units: seconds."""
    reporter: Reporter = SILENT
    """Receives progress and warnings."""


@dataclass(frozen=True)
class NodeResult:
    """The result of a drain or restore."""

    node: Node
    """Host and port."""
    is_changed: bool
    """False: the node already was in that state."""


def drain(client: AdminClient, request: NodeRequest) -> NodeResult:
    """Drain a node: it gets no new connections.

    Raises: UsageError, RefusedError before any change; ApplyError when the drain fails.
    """
    with _locked(client, request, "drain") as servers:
        state = servers.read()
        node = state.find(request.node)
        name = node_text(node)
        if node in state.drained:
            return NodeResult(node, is_changed=False)
        _check_configured(state, node)
        image = drained_image(state, node)
        against = [] if request.force else [*objections(state, node, image)]
        if against:
            ways = dict.fromkeys(reason.fix for reason in against)
            raise RefusedError(
                f"{name}: not drained",
                reasons=[reason.reason for reason in against],
                fix="; ".join([*ways, "or allow it with --force"]),
            )
        with servers.explain_disconnect(node):
            servers.load(image)
            if not servers.shows_drained(node):
                raise ApplyError(f"{name} is not drained after the LOAD")
        return NodeResult(node, is_changed=True)


def restore(client: AdminClient, request: NodeRequest) -> NodeResult:
    """Restore a drained node to its configured rows.

    Raises: UsageError, RefusedError before any change; ApplyError when the restore fails.
    """
    with _locked(client, request, "restore") as servers:
        state = servers.read()
        node = state.find(request.node)
        if node not in state.drained:
            _check_configured(state, node)
            _check_not_shunned(state, node)
            return NodeResult(node, is_changed=False)
        with servers.explain_disconnect(node):
            servers.load(restored_image(state, node))
            if servers.shows_drained(node):
                raise ApplyError(f"{node_text(node)} is still drained after the LOAD")
        return NodeResult(node, is_changed=True)


def _check_configured(state: ServerState, node: Node) -> None:
    """Refuse a node that is configured out of service, or that is not configured."""
    name = node_text(node)
    if node not in {state.read(row).node for row in state.configured.values()}:
        raise RefusedError(
            f"{name} is not in mysql_servers: the monitor discovered it",
            fix="add it to the files and apply them, then drain it",
        )
    if configured_out(state, node):
        raise RefusedError(
            f"{name} is out of service in MEMORY and on DISK (OFFLINE_SOFT, or weight 0 and"
            " max_connections 0)",
            fix="change it where it was configured: in the files, or with nodes restore on the"
            " ProxySQL Cluster member where it was drained",
        )


def _check_not_shunned(state: ServerState, node: Node) -> None:
    """Refuse a node that stays SHUNNED: a restore loads the configured rows, which say SHUNNED."""
    hostgroups = sorted({str(key[0]) for key in state.shunned if key[1:] == node}, key=int)
    if hostgroups:
        raise RefusedError(
            f"{node_text(node)} stays SHUNNED in hostgroup {', '.join(hostgroups)}: it is SHUNNED"
            " in MEMORY and on DISK, and ProxySQL never undoes that",
            fix="write `status: ONLINE` in the files and apply them",
        )


@contextmanager
def _locked(client: AdminClient, request: NodeRequest, action: str) -> Iterator[_LockedServers]:
    """Hold the lock; first put MEMORY back if an earlier command died."""
    lock = Lock(client, f"nodes {action} {request.node}")
    try:
        lock.take(timeout_s=request.lock_timeout_s, waiting=request.reporter.progress)
        membership = read_membership(client)
        for danger in members.dangers([_SERVERS.name], membership):
            message = f"{client.address}: nothing was changed"
            raise RefusedError(message, reasons=[danger.message], fix=danger.fix)
        wait_for_newer_epoch(client, _SERVERS.name, request.reporter.progress)
        if lock.leftovers.get(_SERVERS.name):
            with lock.renewed_for(_FROM_DISK, {}):
                client.execute(Statement.plain(_FROM_DISK))
            lock.forget_leftovers([_SERVERS.name])
            lock.mark("", {})
        yield _LockedServers(client, lock, has_peers=membership.has_peers)
    finally:
        with uninterrupted():
            lock.release_or_report(request.reporter.warning)


@dataclass
class _LockedServers:
    """MYSQL SERVERS of the instance, under the lock."""

    client: AdminClient
    lock: Lock
    has_peers: bool = False
    before: Rows | None = None
    """MEMORY before the first write; None before that write."""

    def read(self) -> ServerState:
        """Return the servers as configured and at RUNTIME.

        Raises: RefusedError if MEMORY, DISK and RUNTIME differ by more than drained nodes, or if
        the monitor of families is off.
        """
        facts = read_facts(self.client)
        diffs, topology = self._diffs(facts.monitor)
        module = replace(plan_module(_SERVERS, diffs), load=True, save=True)
        refusals = [
            *pending_edits.refusals([(module, pending_edits.pending_edits(module))], source=_DRAIN)
        ]
        if refusals:
            raise RefusedError(
                f"{self.client.address}: {_SERVERS.name} differs between MEMORY, RUNTIME and DISK;"
                " a drain needs all three to agree",
                reasons=[
                    line for refusal in refusals for line in (refusal.message, *refusal.below())
                ],
            )
        if topology.families and not facts.monitor.is_on:
            raise RefusedError(
                f"{self.client.address}: the monitor is off (mysql-monitor_enabled) and would not"
                " move the nodes of a family",
                fix="set it to true and try again",
            )
        self.lock.forget_leftovers([_SERVERS.name])
        diff = module.servers
        if diff is None:
            raise InternalError(f"a ProxySQL without {_TABLE}")
        return ServerState(
            diff.layout,
            diff.memory,
            diff.runtime,
            topology,
            diff.drained,
            diff.shunned,
            self.has_peers,
        )

    def _diffs(self, settings: MonitorSettings) -> tuple[dict[str, TableDiff], Topology]:
        """Return the diffs of MYSQL SERVERS without managed rows, and the families.

        Nodes that the monitor placed before it was switched off are placed, too.
        """
        layouts = read_layouts(self.client)
        names = [table.name for table in _SERVERS.tables if table.name in layouts]
        tables = read_tables(self.client, [layouts[name] for name in names])
        for danger in mistyped.mistyped_keys(tables.values()):
            raise RefusedError(
                f"{self.client.address}: nothing was changed",
                reasons=[danger.message],
                fix=danger.fix,
            )
        sides = {
            name: (rows[Layer.MEMORY], rows[Layer.MEMORY], rows[Layer.RUNTIME])
            for name, rows in (
                (name, tables[name].rows) for name in FAMILY_TABLES if name in tables
            )
        }
        topology = Topologies.of(layouts, sides, settings.as_if_on()).memory
        unmanaged = DesiredTable(layouts[_TABLE], {}, scope=Scope(lambda _key: False, ""))
        topologies = Topologies(desired=topology, memory=topology)
        return {
            name: diff_table(
                layouts[name],
                unmanaged if name == _TABLE else None,
                tables[name].rows,
                topologies,
            )
            for name in names
        }, topology

    def load(self, image: Rows) -> None:
        """LOAD these rows, then put MEMORY back. Raises: InstanceError, ApplyError."""
        layout = read_layouts(self.client)[_TABLE]
        self.before = self._memory(layout)
        self.lock.mark("staging MEMORY", _STAGED)
        try:
            for statement in transition(layout, self.before, image):
                self.client.execute(self.lock.fenced(statement))
            if self._memory(layout) != image:
                raise InstanceError(f"{_TABLE} in MEMORY does not hold what was written")
            with self.lock.renewed_for(_SERVERS.load, _STAGED):
                self.client.execute(Statement.plain(_SERVERS.load))
        except ConnectionLostError:
            raise
        except ProxyctlError:
            if not self.lock.is_lost:
                self.put_memory_back()
            raise
        self.put_memory_back()

    def shows_drained(self, node: Node) -> bool:
        """Return whether RUNTIME shows the node drained after a LOAD.

        Raises: ConnectionLostError; ApplyError when the servers cannot be read or compared.
        """
        try:
            return node in self.read().drained
        except ConnectionLostError:
            raise
        except ProxyctlError as error:
            name = node_text(node)
            raise ApplyError(
                f"loaded, but it is not known whether {name} is drained: {error.message}",
                then=error.lines()[1:],
            ) from error

    def put_memory_back(self) -> None:
        """Put MEMORY back to its rows before the first write. Raises: InstanceError, ApplyError."""
        if self.before is None:
            return
        layout = read_layouts(self.client)[_TABLE]
        with self.lock.renewed_for(_FROM_DISK, _STAGED):
            self.client.execute(Statement.plain(_FROM_DISK))
        for statement in transition(layout, self._memory(layout), self.before):
            self.client.execute(self.lock.fenced(statement))
        if self._memory(layout) != self.before:
            raise ApplyError(
                f"{_TABLE} in MEMORY is not as it was before",
                fix=f"compare main.{_TABLE} with disk.{_TABLE}; {_FROM_DISK} makes them equal",
            )

    def _memory(self, layout: Layout) -> Rows:
        return read_rows(self.client, layout, Layer.MEMORY)

    @contextmanager
    def explain_disconnect(self, node: Node) -> Iterator[None]:
        """Add the state of the node to the error of an interrupt or a lost connection.

        Raises: InterruptedApplyError; ApplyError for a lost connection.
        """
        try:
            with interruptible():
                yield
        except (KeyboardInterrupt, ConnectionLostError) as error:
            with uninterrupted():
                state = self._state(node, error)
            if isinstance(error, KeyboardInterrupt):
                raise InterruptedApplyError(f"interrupted: {state}") from error
            then = [*error.then, f"after reconnecting: {state}"]
            raise ApplyError(error.message, then=then, fix=error.fix) from error

    def _state(self, node: Node, error: BaseException) -> str:
        """Put MEMORY back, and return whether the node is drained, as text."""
        name = node_text(node)
        try:
            # Reconnect after an interrupt, too: half of an answer may still be on its way.
            cause = error if isinstance(error, ConnectionLostError) else ConnectionLostError("")
            if not Reconnect(self.client, self.lock).connect(cause):
                self.put_memory_back()
            is_drained = node in self.read().drained
        except ProxyctlError as later_error:
            return f"it is not known whether {name} is drained: {later_error.message}"
        return f"{name} is {'drained' if is_drained else 'not drained'}"


def wait_until_unused(
    client: AdminClient, node: Node, *, timeout_s: float, reporter: Reporter = SILENT
) -> None:
    """Wait until the instance uses no connection to a drained node.

    Raises: ApplyError if connections are still in use after `timeout_s`, or cannot be read;
    InterruptedApplyError.
    """
    name, fix = (
        node_text(node),
        f"return it to service with proxyctl nodes restore {node_text(node)}",
    )
    deadline, last_count = time.monotonic() + timeout_s, 0
    try:
        with interruptible():
            while count := _in_use(client, node):
                if time.monotonic() >= deadline:
                    raise ApplyError(
                        f"{name} is drained, but {counted(count, 'connection')} to it"
                        f" {'is' if count == 1 else 'are'} still in use after {timeout_s:g} s",
                        fix=fix,
                    )
                if count != last_count:
                    reporter.progress(f"{name}: waiting for {counted(count, 'connection')} in use")
                    last_count = count
                time.sleep(_POLL_S)
    except KeyboardInterrupt as error:
        raise InterruptedApplyError(
            f"interrupted: {name} is drained but may still be in use", fix=fix
        ) from error
    except InstanceError as error:
        then = [*error.then, f"{name} was drained; it is not known whether it is still in use"]
        raise ApplyError(error.message, then=then, fix=fix) from error


def _in_use(client: AdminClient, node: Node) -> int:
    """Return the connections in use to a node in all hostgroups. Raises: InstanceError."""
    return sum(count for key, count in used_connections(client).items() if key[1:] == node)
