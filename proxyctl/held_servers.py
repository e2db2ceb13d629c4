"""MYSQL SERVERS of one instance, read under the lock, and a LOAD of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from proxyctl.admin.apply import ApplyOptions, apply_plan
from proxyctl.admin.client import AdminClient
from proxyctl.admin.drains import forget_drain, note_memory
from proxyctl.admin.interrupts import uninterrupted
from proxyctl.admin.lock import Lock
from proxyctl.admin.reconnect import Reconnect
from proxyctl.admin.runtime_facts import read_facts
from proxyctl.catalog import ADMIN_MODULES, AdminModule, Layout
from proxyctl.drains import Drain, DrainMethod, shows_drain
from proxyctl.errors import ConnectionLostError, ProxyctlError, RefusedError, UsageError
from proxyctl.families import Node, ServerColumns, node_text
from proxyctl.instance_survey import InstanceSurvey, survey_as_nobodys
from proxyctl.leftovers import as_on_record, meant_rows, on_no_record
from proxyctl.nearest import nearest
from proxyctl.nodes.draining import Standing
from proxyctl.pending import pending_edits, refusals
from proxyctl.placement import placed_rows
from proxyctl.plan import ModulePlan, Plan, Refusal, raise_refusals
from proxyctl.state import Layer, Row, Rows, Source
from proxyctl.survey import Surroundings, TableSurvey
from proxyctl.surveying import survey_table

SERVERS = ADMIN_MODULES["MYSQL SERVERS"]
_LISTED = 8
"""So many nodes are named to somebody who named none of them."""
_DRAIN = Source("the drain says", "part of the drain", "not part of the drain", "of the drain")

Warn = Callable[[ModulePlan, int, bool], None]


@dataclass
class HeldServers:
    """MYSQL SERVERS of an instance, read under the lock.

    `truth` are the rows that MEMORY is meant to hold: another drain may have died while it held
    placed ones. `before_load` is called before each LOAD. `is_monitored`: whether the monitor is
    on. What it placed before it was switched off still stands, and a LOAD must not undo it. `warn`
    is given each LOAD before it is done, the interval of the Galera checks here in ms, and whether
    the LOAD makes the monitor choose another writer. `has_loaded`: a LOAD of ours may have reached
    RUNTIME. `lost_at_peers` tells which edits at peers a LOAD would undo there.
    """

    client: AdminClient
    lock: Lock
    survey: InstanceSurvey
    surveys: dict[str, TableSurvey]
    truth: Rows
    before_load: Callable[[AdminModule], None]
    drains: dict[Node, Drain] = field(default_factory=dict)
    is_monitored: bool = True
    warn: Warn = lambda _module, _check_ms, _moves: None
    has_loaded: bool = False
    lost_at_peers: Callable[[ModulePlan], Iterable[Refusal]] = lambda _module: ()

    @classmethod
    def read(
        cls,
        client: AdminClient,
        lock: Lock,
        before_load: Callable[[AdminModule], None],
        warn: Warn,
    ) -> HeldServers:
        """Read everything that a LOAD of MYSQL SERVERS moves.

        Raises: RefusedError when an apply died and its rows stand in MEMORY.
        """
        facts = read_facts(client)
        survey = survey_as_nobodys(client, facts)
        surveys = survey.module(SERVERS, managed_only=False)
        drains = dict(survey.surroundings.drains)
        found = surveys["mysql_servers"]
        truth = found.memory
        if SERVERS.name in lock.leftovers:
            meant = meant_rows(lock.leftovers, drains.values())
            if meant is None:
                raise RefusedError(
                    f"{client.address}: a command that did not finish left its rows in MEMORY",
                    hint="run apply, which finishes it, and then this again",
                )
            truth = meant
            surveys["mysql_servers"] = _as_if(truth, found, survey.surroundings)
        is_monitored = facts.monitor_enabled
        return cls(client, lock, survey, surveys, truth, before_load, drains, is_monitored, warn)

    def revive(self, error: BaseException) -> None:
        """Connect again unless the connection surely is in step: an answer may be half read.

        Raises: ConnectionLostError, RefusedError when somebody else has the lock now.
        """
        if isinstance(error, ProxyctlError) and not isinstance(error, ConnectionLostError):
            return
        said = error.message if isinstance(error, ProxyctlError) else "interrupted"
        Reconnect(self.client, self.lock).again(ConnectionLostError(said))

    def again(self) -> HeldServers:
        """Return the servers as they are now."""
        now = self.read(self.client, self.lock, self.before_load, self.warn)
        return replace(now, has_loaded=self.has_loaded, lost_at_peers=self.lost_at_peers)

    def when_due(self) -> HeldServers:
        """Return the servers as they are once a LOAD of them may come.

        In a ProxySQL Cluster that may have to wait; the monitor goes on to move nodes meanwhile.
        """
        self.before_load(SERVERS)
        return self.again()

    def as_if(self, truth: Rows) -> HeldServers:
        """Return the servers with other rows that MEMORY is meant to hold."""
        meant = _as_if(truth, self.surveys["mysql_servers"], self.survey.surroundings)
        return replace(self, truth=truth, surveys={**self.surveys, "mysql_servers": meant})

    @property
    def is_saved(self) -> bool:
        """Whether DISK holds what MEMORY does, so that a SAVE would publish nobody else's edit."""
        return not any(survey.unsaved for survey in self.surveys.values())

    @property
    def are_others_saved(self) -> bool:
        """Whether DISK holds the tables that are loaded and saved together with the servers."""
        others = (survey for name, survey in self.surveys.items() if name != "mysql_servers")
        return not any(survey.unsaved for survey in others)

    @property
    def layout(self) -> Layout:
        """The columns of mysql_servers."""
        return self.surveys["mysql_servers"].layout

    @property
    def disk(self) -> Rows:
        """The rows on DISK."""
        return self.survey.reader.read(self.layout, Layer.DISK)

    @property
    def standing(self) -> Standing:
        """RUNTIME, and who moves servers there."""
        found = self.surveys["mysql_servers"]
        families = self.survey.surroundings.families
        return Standing(found.layout, found.runtime or {}, families, self.is_monitored)

    def find(self, text: str) -> Node:
        """Return the node that a person means, also one that is only on record as drained.

        Raises: UsageError when there is none, or several.
        """
        columns = self.standing.columns
        runtime = self.standing.runtime
        nodes = {columns.node(row) for row in (*self.truth.values(), *runtime.values())}
        nodes |= self.drains.keys()
        host, _, port = text.rpartition(":")
        fitting = [
            node
            for node in nodes
            if text.removeprefix("[").removesuffix("]") == node[0]
            or text == node_text(node)
            or (host.strip("[]"), port) == (node[0], str(node[1]))
        ]
        if len(fitting) == 1:
            return fitting[0]
        names = sorted(map(node_text, fitting or nodes))
        what = "several nodes of that name" if fitting else "no such node"
        raise UsageError(f"{text or repr(text)}: {what}", hint=_hint(text, names))

    def shows(self, node: Node, method: DrainMethod = DrainMethod.PROXYSQL) -> bool:
        """Return whether RUNTIME shows the node drained."""
        standing = self.standing
        rows = standing.runtime.values()
        return shows_drain(standing.columns, rows, standing.families, node, method)

    def is_in_family(self, node: Node) -> bool:
        """Return whether the monitor places the node, or did until it was switched off."""
        standing = self.standing
        rows = self.rows_of(node, standing.runtime).values()
        return any(standing.family_of(row[standing.columns.hostgroup]) for row in rows)

    def is_gone(self, node: Node) -> bool:
        """Return whether neither MEMORY nor RUNTIME has the node any more but as OFFLINE_HARD."""
        return self.is_removed(node) and not self.rows_of(node, self.standing.runtime)

    def is_removed(self, node: Node) -> bool:
        """Return whether MEMORY does not have the node any more but as OFFLINE_HARD."""
        is_off = self.how_configured_out(node) == "OFFLINE_HARD"
        return is_off or not self.rows_of(node, self.truth)

    def how_configured_out(self, node: Node) -> str | None:
        """Return by what the configuration itself lets no connection to any row of the node.

        None where it lets some, or does not have the node.
        """
        columns = self.standing.columns
        rows = self.rows_of(node, self.truth).values()
        found = [_taken_out_by(columns, row) for row in rows]
        # In a family and outside of it a drain does not show alike.
        named = sorted({how for how in found if how is not None}, reverse=True)
        return " and ".join(named) if named and None not in found else None

    def is_unfinished(self, node: Node) -> bool:
        """Return whether a command for this node died, and its rows may stand in MEMORY."""
        return as_on_record(node) in self.lock.leftovers

    def rows_of(self, node: Node, rows: Rows) -> Rows:
        """Return the rows of one node."""
        columns = self.standing.columns
        return {key: row for key, row in rows.items() if columns.node(row) == node}

    def placed(self, released: Node | None = None) -> Rows:
        """Return the rows whose LOAD changes nothing but what drains the node that is released."""
        standing = self.standing
        return placed_rows(
            standing.layout,
            self.truth,
            standing.runtime,
            standing.families,
            drains=self.drains.keys() - {released},
            released=() if released is None else (released,),
        )

    def check(self, node: Node, reasons: Iterable[str], *, include_pending: bool) -> None:
        """Refuse for these reasons, and for edits in MEMORY that a LOAD would publish, or undo.

        What a drain of the node loaded that was not finished is no edit, whoever took its lock
        away: MEMORY holds all that it is meant to. Raises: RefusedError.
        """
        plan = self._plan(None, self.truth)
        found = pending_edits(plan.modules[0], saves=False)
        begun = self.drains.get(node)
        is_as_begun = begun is not None and not begun.is_done and begun.memory == self.truth
        if is_as_begun or self.truth is not self.surveys["mysql_servers"].memory:
            # Servers differ from RUNTIME by what the command that died had loaded.
            found = [edit for edit in found if edit.layout.name != "mysql_servers"]
        if not include_pending:
            plan.refusals.extend(refusals(plan.modules[0], found, source=_DRAIN))
        plan.refusals.extend(self.lost_at_peers(plan.modules[0]))
        said = list(reasons)
        if said and not plan.refusals:
            raise RefusedError(f"{plan.name}: nothing was changed", reasons=said)
        raise_refusals(plan)

    def load(
        self,
        node: Node,
        image: Rows,
        *,
        saves: bool = False,
        others: Mapping[str, Rows] | None = None,
        moves_writer: bool = False,
    ) -> None:
        """LOAD these servers, read RUNTIME back, and put MEMORY as it is meant to be.

        `saves`: and SAVE that; else DISK stays as it is. `others`: rows of tables beside
        mysql_servers to LOAD, by table, where those of MEMORY are not to go live.
        `moves_writer`: another node becomes the writer by it.
        """
        mark = as_on_record(node)
        if note_memory(self.client, self.lock, node, self.truth):
            # What another one that died had left, and what it is to be, is ours now.
            left = on_no_record(self.lock.leftovers)
            self.lock.leftovers = left | ({mark: False} if SERVERS.name in left else {})
        options = ApplyOptions(
            save=saves,
            before_load=self._before_load,
            marks=(mark,),
            goes_on="the same command tries again;"
            f" proxyctl nodes restore {node_text(node)} puts it back where it is drained",
        )
        plan = self._plan(node, image, saves=saves)
        plan.modules[0].images[0].update(others or {})
        self.warn(plan.modules[0], self.survey.facts.galera_check_ms, moves_writer)
        apply_plan(self.client, plan, self.lock, options)
        self.lock.finished([SERVERS.name])
        servers = self.surveys["mysql_servers"]
        self.surveys["mysql_servers"] = replace(servers, memory=self.truth, target=self.truth)

    def forget(self, node: Node) -> None:
        """Take the node off the record, once MEMORY is as it is meant to be.

        Whoever dies after that leaves no rows of ours: nobody must look for a record then. A lock
        that is lost changes nothing of that.
        """
        with suppress(RefusedError):
            self.lock.mark("done", {})
        forget_drain(self.client, node)

    def note_again(self, drain: Drain) -> None:
        """Note what was on record before a LOAD that failed, unless rows of ours stand in MEMORY.

        Tells --debug where that cannot be done.
        """
        if SERVERS.name in self.lock.leftovers or self.lock.is_lost:
            return
        try:
            with uninterrupted():
                note_memory(self.client, self.lock, drain.node, drain.memory)
        except ProxyctlError as error:
            self.client.tell(f"the record of {node_text(drain.node)} is not as before: {error}")

    def _before_load(self, module: AdminModule) -> None:
        self.has_loaded = True
        self.before_load(module)

    def _plan(self, node: Node | None, image: Rows, *, saves: bool = False) -> Plan:
        module = ModulePlan(SERVERS, self.surveys, [], load=True, save=saves)
        module.final = {name: found.target for name, found in self.surveys.items()}
        module.images = [{**module.final, "mysql_servers": image}]
        families = self.survey.surroundings.families
        released = frozenset() if node is None else frozenset([node])
        return Plan(
            self.client.login.name or self.client.address,
            self.client.address,
            self.client.version_text,
            [module],
            saves=saves,
            families=families,
            families_before=families,
            drains=frozenset(self.drains) - released,
            released=released,
        )


def _taken_out_by(columns: ServerColumns, row: Row) -> str | None:
    """Return what lets no connection to a row; None where it lets some."""
    status = str(row[columns.status]).upper()
    if status in ("OFFLINE_SOFT", "OFFLINE_HARD"):
        return status
    return "max_connections 0" if row[columns.max_connections] == 0 else None


def _hint(text: str, names: list[str]) -> str | None:
    """Return which node may be meant: the nearest, or the first few of all."""
    near = nearest(text, names, cutoff=0.7) if len(names) > _LISTED else None
    if near is not None:
        return f"did you mean {near}?"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"nodes: {', '.join(names[:_LISTED])}{more}" if names else None


def _as_if(truth: Rows, found: TableSurvey, surroundings: Surroundings) -> TableSurvey:
    """Return the survey as if MEMORY held the rows that it is meant to hold.

    What stands there, by a command that died, is replaced by the next LOAD.
    """
    layers = {Layer.MEMORY: truth, Layer.RUNTIME: found.runtime or {}}

    def read(layer: Layer) -> Rows:
        return layers.get(layer, truth)

    meant = survey_table(found.layout, found.desired, read, surroundings)
    return replace(meant, memory=found.memory, target=truth)
