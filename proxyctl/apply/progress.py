"""An apply in progress: the rows of MEMORY, and the result so far.

No write counts before it is read back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

from proxyctl.apply.readback import ReadBack, in_key_order
from proxyctl.apply.request import Reporter
from proxyctl.apply.result import UNVERIFIED, ApplyResult, ModuleResult
from proxyctl.errors import ConnectionLostError, InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import wait_for_newer_epoch
from proxyctl.instance.lock import RESTARTED, Lock, Reconnect
from proxyctl.instance.read import read_rows
from proxyctl.plan.diff import ServerDiff
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.plan.steps import placed_again
from proxyctl.proxysql.topology import Topology
from proxyctl.rows.row import Layer, Rows
from proxyctl.rows.sql import Statement

SETTLE_S = 2.0
"""Seconds until a row that was loaded ONLINE and that RUNTIME shows SHUNNED is read again."""


class ApplyRun:
    """One apply: sends statements and reads every layer back."""

    def __init__(self, client: AdminClient, plan: Plan, lock: Lock, reporter: Reporter) -> None:
        self.client = client
        self.plan = plan
        self.lock = lock
        self.say = reporter.progress
        self.modules = [module for module in plan.modules if module.does_something]
        """The modules with any step, in the order of their LOADs."""
        self.was_saved = {module.name: module.is_saved for module in self.modules}
        """Whether MEMORY equalled DISK before the first write, by admin module."""
        self.memory = {module.name: memory_before(module) for module in self.modules}
        self.results = {module.name: ModuleResult(module.name) for module in self.modules}
        self.result = ApplyResult(list(self.results.values()))
        self.lost: ConnectionLostError | None = None
        """The lost connection during a LOAD or SAVE after which proxyctl reconnected."""
        self.reconnect = Reconnect(client, lock)
        self.read_back = ReadBack(client)
        self._loaded: set[str] = set()

    def mark(self, stage: str) -> None:
        """Record the stage in the lock. Raises: RefusedError when the lock is lost."""
        self.lock.mark(stage, self.was_saved)

    def write(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Write these rows to MEMORY of a module and read it back.

        Raises: ReadBackError when MEMORY holds other rows afterwards.
        """
        before = self.memory[module.name]
        changed = [name for name, rows in wanted.items() if rows != before[name]]
        if not changed:
            self.memory[module.name] = {**before, **wanted}
            return
        self.results[module.name].memory = UNVERIFIED
        statements = self._statements(module, {name: wanted[name] for name in changed})
        statement = next(statements, None)
        while statement is not None:
            self.lock.renew()
            self.client.send(self.lock.fenced(statement))
            statement = next(statements, None)  # computed while ProxySQL runs the previous one
            if not self.client.receive()[1]:
                # No row changed although one should: the lock may be lost.
                self.lock.renew(at_once=True)
            self.result.statements += 1
        for name in changed:
            self.read_back.stored(module.diffs[name].layout, Layer.MEMORY, wanted[name])
        self.memory[module.name] = {**before, **wanted}

    def _statements(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> Iterator[Statement]:
        """Yield the statements that write these rows to MEMORY.

        The expected text is prepared while ProxySQL runs the last statement.
        """
        before = self.memory[module.name]
        for name, rows in wanted.items():
            ordered = in_key_order(rows)
            yield from module.transition(before, {name: ordered})
            self.read_back.expect(module.diffs[name].layout, rows, ordered)

    def read(self, module: ModulePlan, table: str, layer: Layer) -> Rows:
        """Return the rows of a table in one layer."""
        return self.read_back.read(module.diffs[table].layout, layer)

    def verify_runtime(
        self, module: ModulePlan, image: Mapping[str, Rows], topology: Topology
    ) -> None:
        """Read RUNTIME of a module back after a LOAD of these rows. Raises: ReadBackError."""
        layouts = [diff.layout for diff in module.diffs.values()]
        loaded = {name: image.get(name, diff.memory) for name, diff in module.diffs.items()}
        parsed = self.read_back.runtime(layouts, loaded, topology)
        servers = module.servers
        if servers is not None and servers.layout.name in parsed:
            name = servers.layout.name
            self._reread_shunned(servers, parsed[name], loaded[name])

    def _reread_shunned(self, diff: ServerDiff, runtime: Rows, loaded: Rows) -> None:
        """Note each server that stays SHUNNED at RUNTIME although it was loaded ONLINE."""
        status = diff.layout.index["status"]

        def shunned(rows: Rows) -> set[str]:
            return {
                f"{row[1]}:{row[2]} in hostgroup {row[0]}"
                for key, row in rows.items()
                if str(row[status]).startswith("SHUNNED")
                and str(loaded.get(key, row)[status]).upper() == "ONLINE"
            }

        if not shunned(runtime):
            return
        time.sleep(SETTLE_S)
        runtime_later = read_rows(self.client, diff.layout, Layer.RUNTIME)
        self.result.notes += [
            f"{place} is SHUNNED at RUNTIME although the files say ONLINE"
            for place in sorted(shunned(runtime_later))
        ]

    def verify_disk(self, module: ModulePlan, wanted: Mapping[str, Rows]) -> None:
        """Read DISK of a module back after its SAVE. Raises: ReadBackError."""
        for name, diff in module.diffs.items():
            self.read_back.stored(diff.layout, Layer.DISK, wanted[name])

    def wait_for_newer_epoch_of(self, module: ModulePlan) -> None:
        """Wait until a LOAD of the module would be the newest in its ProxySQL Cluster."""
        if self.plan.members:
            wait_for_newer_epoch(self.client, module.name, self.say)

    def load_placed(self, module: ModulePlan, image: Mapping[str, Rows]) -> Mapping[str, Rows]:
        """LOAD a module whose rows are in MEMORY, and return the loaded rows.

        Nodes that the monitor has moved since the plan stay where they are now.
        """
        self.wait_for_newer_epoch_of(module)
        # Before the read, because an output that is blocked would make the placement old.
        self.say(module.module.load)
        topology, diff = module.monitored, module.servers
        if diff is not None and module.name in self._loaded:
            # After the first LOAD the monitor places the families of the files.
            topology = self.plan.topologies.coming.of_servers(diff.layout)
        if topology.families and diff is not None:
            name = diff.layout.name
            loaded, runtime = image[name], self.read(module, name, Layer.RUNTIME)
            placed = placed_again(diff, loaded, runtime, topology)
            if placed is not None:
                self.say(f"{module.name}: write MEMORY again: the monitor has moved nodes")
                image = {**image, name: placed}
                self.write(module, image)
        self.command(module, Layer.RUNTIME)
        self._loaded.add(module.name)
        return image

    def command(self, module: ModulePlan, layer: Layer) -> None:
        """Send the LOAD or the SAVE that changes a layer; reconnect if the connection breaks.

        The command is never sent twice: it is not known whether it ran, and the read-back decides.

        Raises: RefusedError when the lock is lost; InstanceError when ProxySQL was restarted, and
        has lost all earlier LOADs.
        """
        sql = module.module.load if layer is Layer.RUNTIME else module.module.save
        lost = None
        with self.lock.renewed_for(sql, self.was_saved):
            self.results[module.name].doubt(layer)
            try:
                self.client.execute(Statement.plain(sql))
            except ConnectionLostError as error:
                lost = error
        if lost is not None:
            is_new = self.connect_again(lost)
            self.lost = lost
            if is_new:
                raise InstanceError(RESTARTED) from lost
        elif self.client.info:
            # Its count of refused values may include other variables: the read-back decides.
            self.say(f"{sql}: {self.client.info}")

    def connect_again(self, cause: ConnectionLostError) -> bool:
        """Open the connection again; return whether ProxySQL was restarted meanwhile."""
        is_new = self.reconnect.connect(cause)
        if is_new:
            for result in self.results.values():
                result.memory = result.runtime = UNVERIFIED
        return is_new


def memory_before(module: ModulePlan) -> dict[str, Rows]:
    """Return the rows of MEMORY at the time of the plan."""
    return {name: diff.memory for name, diff in module.diffs.items()}
