"""Puts back variables that wait for a restart of a peer, and that it drops when it follows.

A LOAD puts the running value back into MEMORY, and a peer that takes variables over saves that.
Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.members import Members
from proxyctl.admin.whole_answer import query_whole
from proxyctl.catalog import AdminModule, Value
from proxyctl.catalog.variables import MEMBERS_OWN, RESTART_ONLY
from proxyctl.cluster.membership import Membership
from proxyctl.errors import ApplyError
from proxyctl.families import Node
from proxyctl.plan import ModulePlan
from proxyctl.sql import Statement, literal

MODULE = "MYSQL VARIABLES"

_NAMES = ",".join(map(literal, sorted(RESTART_ONLY & MEMBERS_OWN)))
_READ = (
    "SELECT m.variable_name, m.variable_value, d.variable_value, r.variable_value"
    " FROM main.global_variables m"
    " JOIN disk.global_variables d ON d.variable_name=m.variable_name"
    " JOIN runtime_global_variables r ON r.variable_name=m.variable_name"
    f" WHERE m.variable_name IN ({_NAMES})"
)


@dataclass(frozen=True)
class _Held:
    """What the layers of a peer have of one variable."""

    memory: Value
    disk: Value
    running: Value

    @property
    def waits(self) -> bool:
        """Whether MEMORY or DISK have what a restart is to bring."""
        return self.running not in (self.memory, self.disk) or self.memory != self.disk


@dataclass
class AwaitingRestart:
    """What waited at the peers before the first LOAD, and was not put back yet."""

    members: Members
    _held: dict[Node, dict[str, _Held]] = field(default_factory=dict)
    _is_loaded: bool = False

    def note(self, modules: Collection[ModulePlan], here: Membership) -> None:
        """Note what waits at the peers that take variables over, if any are loaded.

        Changes: itself.
        """
        name = here.name_of(MODULE)
        if name is None or not any(one.name == MODULE and one.images for one in modules):
            return
        nodes = [one.node for one in here.others if here.is_followed_by(one, name)]
        found = self.members.answers(nodes, lambda _node, contact: _waiting(contact))
        self._held = {node: held for node, held in found.items() if held}

    def before_load(self, module: AdminModule) -> None:
        """Note that a module is loaded: peers take it over. Changes: itself."""
        self._is_loaded = self._is_loaded or module.name == MODULE

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Also where an apply stops half-way: say what peers may have dropped by then."""
        try:
            yield
        except ApplyError as error:
            if self._is_loaded:
                error.then.extend(self.left())
            raise

    def stays(self, node: Node) -> None:
        """Note that a peer takes nothing over. Changes: itself."""
        self._held.pop(node, None)

    def put_back(self, node: Node, lock: Lock | None) -> Iterator[str]:
        """Put back what a peer dropped that has taken the variables over; yield what that was.

        MEMORY first: whenever the peer saves it, that is what comes to DISK. What somebody has set
        there meanwhile stays. Changes: itself. Raises: InstanceError.
        """
        held = self._held.get(node)
        if not held or lock is None:
            return
        now = _read(lock.client)
        dropped = []
        for name, was in held.items():
            if name in now and now[name] == was and was.memory == was.disk:
                continue
            staged = was.disk if was.memory == was.running else was.memory
            _set(lock, "main", name, staged, was)
            _set(lock, "disk", name, was.disk, was)
            if now.get(name) != was:
                dropped.append(name)
        then = _read(lock.client)
        # A lock that is lost meanwhile lets nothing be written.
        lost = {name for name in dropped if name in then and then[name].disk != held[name].disk}
        self._held[node] = {name: held[name] for name in lost}
        back = [name for name in dropped if name not in lost]
        if back:
            yield f"{MODULE}: put back there, for its next restart: {', '.join(back)}"

    def left(self) -> Iterator[str]:
        """Yield what peers may drop, or have dropped, that nobody put back."""
        for (host, port), held in self._held.items():
            if not held:
                continue
            yield (
                f"{host}:{port}: {', '.join(held)} there waits for a restart, and is gone when the"
                f" peer takes {MODULE} over: set it there again"
            )


def _waiting(client: AdminClient) -> dict[str, _Held]:
    return {name: held for name, held in _read(client).items() if held.waits}


def _read(client: AdminClient) -> dict[str, _Held]:
    rows = query_whole(client, _READ, width=4)
    return {str(name): _Held(memory, disk, running) for name, memory, disk, running in rows}


def _set(lock: Lock, schema: str, name: str, value: Value, was: _Held) -> None:
    """Set a variable in a layer where the running value took its place."""
    if value == was.running:
        return
    sql = (
        f"UPDATE {schema}.global_variables SET variable_value={literal(value)}"
        f" WHERE variable_name={literal(name)} AND variable_value={literal(was.running)}"
    )
    lock.client.execute(lock.fenced(Statement.plain(sql)))
