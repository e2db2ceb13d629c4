"""The plan: the differences from the files, the steps of an apply, and the reasons to refuse it.

Pure. A plan is data: proxyctl prints it, saves it as a receipt, and compares it by fingerprint;
`proxyctl.apply` carries it out.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.catalog import AdminModule, Value
from proxyctl.errors import RefusedError
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change, changes_of
from proxyctl.plan.diff import ServerDiff, TableDiff
from proxyctl.proxysql.compare import Difference, value_of
from proxyctl.proxysql.topology import Topologies, Topology
from proxyctl.rows.desired import FILES, SourceWords
from proxyctl.rows.row import Layer, Rows
from proxyctl.rows.sql import Statement, transition

if TYPE_CHECKING:
    from proxyctl.lint.run import LocatedFinding

REGEX_ENGINE = "mysql-query_processor_regex"
"""The variable that decides which engine compiles the patterns of rules, at their LOAD."""

MOST_LINTED_RULES, MOST_LINTED_ROWS = 2_000, 10_000
"""The most rules, and rows over all tables, for which a plan runs every check of lint: with more,
it runs those for any size."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reason not to apply."""

    code: str
    """Its name for programs: `pending_edit`, `pending_unmanaged`, `mixed_versions`, or the name of
    a guard."""
    message: str
    """The reason, in one sentence."""
    allow: str | None = None
    """The option that allows the apply nevertheless."""
    details: tuple[str, ...] = ()
    """Further lines: the rows in question, and useful statements."""
    fix: str = field(kw_only=True)
    """The safe way to proceed."""

    def below(self, *, of_saved: bool = False) -> tuple[str, ...]:
        """Return the lines below the message: the details and the fix.

        `of_saved`: the plan is a saved one, whose options cannot change.
        """
        verb = "make a new plan" if of_saved else "allow it"
        first = f"{self.fix}; then make a new plan" if of_saved else self.fix
        option = f"; or {verb} with {self.allow}" if self.allow else ""
        return (*self.details, f"fix: {first}{option}")


@dataclass(frozen=True)
class Discarded:
    """The pending edits of one admin module that `--discard-pending` overwrites."""

    module: str
    """The name of the admin module."""
    count: int
    """The number of all edits."""
    edits: tuple[str, ...]
    """Descriptions of the first edits, one line each."""


class ShardMove(NamedTuple):
    """A name with a shard of its own whose queries would go to other servers than now."""

    sharding: str
    """The section; '' for a row of fast routing that no section made."""
    kind: str
    """Either `table` or `schema`."""
    name: str
    """The name of the table or schema."""
    current: int
    """The hostgroup that the queries go to now."""
    desired: int
    """The hostgroup that the queries would go to."""
    how: str
    """One of: `moves`; `enters`: no rule placed the name until now; `joins`: the same, and its
    section or fast routing already places other names; `leaves`: nothing places the name
    afterwards; `servers`: its hostgroup stays the same and gets servers of another hostgroup;
    `reads`: only its reads go to another shard."""


class LintErrors(NamedTuple):
    """The number of errors that lint finds at RUNTIME."""

    before: int
    """What the instance holds now."""
    after: int
    """What it would hold after the apply."""


@dataclass(frozen=True)
class ModulePlan:
    """One admin module: its changes, and whether it is LOADed and SAVEd."""

    module: AdminModule
    """The module in the catalogue."""
    diffs: dict[str, TableDiff]
    """The differences of every relevant table of the module, by table."""
    changes: list[Change]
    """The rows that differ from the files, sorted by table and key."""
    load: bool
    """Whether an apply LOADs the module."""
    save: bool
    """Whether DISK differs, so that an apply SAVEs the module."""
    images: list[dict[str, Rows]] = field(default_factory=list)
    """The MEMORY rows to LOAD by table, one mapping per LOAD: two for servers that leave a
    hostgroup which is still in use."""
    monitored: Topology = Topology()
    """The families whose nodes the first LOAD keeps where RUNTIME has them at that moment; the
    nodes of other families are loaded as in `images`."""
    final: dict[str, Rows] = field(default_factory=dict)
    """The MEMORY rows before the SAVE, by table."""

    @property
    def name(self) -> str:
        """The admin module's name, such as MYSQL SERVERS."""
        return self.module.name

    @property
    def servers(self) -> ServerDiff | None:
        """The table of servers of the module, if it has one."""
        return next((diff for diff in self.diffs.values() if isinstance(diff, ServerDiff)), None)

    @property
    def stages(self) -> bool:
        """Whether MEMORY is written."""
        return any(diff.stages for diff in self.diffs.values())

    @property
    def is_saved(self) -> bool:
        """Whether MEMORY equals DISK in all tables."""
        return not any(diff.unsaved for diff in self.diffs.values())

    @property
    def does_something(self) -> bool:
        """Whether an apply has any step for this module."""
        return self.stages or self.load or self.save

    @property
    def is_in_sync(self) -> bool:
        """Whether all three layers of its tables agree with the files."""
        return not (self.changes or self.does_something)

    @property
    def changes_regex_engine(self) -> bool:
        """Whether rules must be loaded again, for another regex engine to compile them."""
        changes = self.at_runtime("mysql_variables")
        return any(change.key == (REGEX_ENGINE,) for change in changes)

    def at_runtime(self, table: str) -> list[Difference]:
        """Return the changes of a table at RUNTIME."""
        diff = self.diffs.get(table)
        return diff.changes.get(Layer.RUNTIME, []) if diff else []

    def counts(self, layer: Layer = Layer.RUNTIME) -> Counter[str]:
        """Return how many rows are added, changed and deleted in a layer, by action."""
        totals: Counter[str] = Counter()
        for (_, action, layers), count in self.tallies.items():
            if layer in layers:
                totals[action] += count
        return totals

    @cached_property
    def tallies(self) -> Counter[tuple[str, str, tuple[Layer, ...]]]:
        """The number of changes by table, action and layers. Counted once: there may be many."""
        totals: Counter[tuple[str, str, tuple[Layer, ...]]] = Counter()
        alike = groupby(self.changes, key=attrgetter("layout", "action", "layers"))
        for (layout, action, layers), changes in alike:
            totals[layout.name, action, layers] += sum(1 for _ in changes)
        return totals

    def staging(self) -> Iterator[Statement]:
        """Yield the statements that turn MEMORY into the first image (or the final rows)."""
        return self.transition({name: d.memory for name, d in self.diffs.items()}, self.first)

    @property
    def first(self) -> dict[str, Rows]:
        """The MEMORY rows after staging: the first image, or the final rows without a LOAD."""
        return self.images[0] if self.images else self.final

    def transition(
        self, before: Mapping[str, Rows], after: Mapping[str, Rows]
    ) -> Iterator[Statement]:
        """Yield the statements that change MEMORY of this module from `before` to `after`."""
        for name, rows in after.items():
            if rows != before[name]:
                yield from transition(self.diffs[name].layout, before[name], rows)


@dataclass(frozen=True)
class Plan:
    """Everything that an apply would do to one instance."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """`host:port`, or the path of the socket."""
    version: str
    """The version that the instance reports."""
    modules: list[ModulePlan] = field(default_factory=list)
    """The admin modules with managed tables, and the rules if their engine changes, in the order of
    an apply."""
    refusals: list[Refusal] = field(default_factory=list)
    """The reasons not to apply."""
    discarded: list[Discarded] = field(default_factory=list)
    """The edits in MEMORY that an apply overwrites because of `--discard-pending`."""
    left_alone: list[str] = field(default_factory=list)
    """Rows that differ and that the files do not mention, in words."""
    out_of_service: list[str] = field(default_factory=list)
    """The servers that an operator removed from service; `left_alone` has them, too."""
    warnings: list[str] = field(default_factory=list)
    """Side effects of the apply, and what guards only warn of."""
    findings: tuple[LocatedFinding, ...] = ()
    """The errors and warnings of lint that the plan introduces; if it changes nothing, the errors
    about rows of the files."""
    known_findings: int = 0
    """The number of errors and warnings that lint finds before and after a change."""
    lint_errors: LintErrors | None = None
    """The number of errors that lint finds; None if the guard of lint is off."""
    skipped_checks: tuple[str, ...] = ()
    """The codes of the checks of lint that did not run: there are too many rules or rows."""
    restart_required: list[str] = field(default_factory=list)
    """The changed variables that take effect when ProxySQL is restarted."""
    members: list[str] = field(default_factory=list)
    """The members of the ProxySQL Cluster that the instance lists."""
    saves: bool = True
    """Whether the apply SAVEs. If not, the `save` of a module says that DISK is behind."""
    topologies: Topologies = Topologies()
    """The families that decided how servers compare."""
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    """The names that the files give to hostgroups, by number."""
    shard_moves: list[ShardMove] = field(default_factory=list)
    """The tables and schemas that change shard, allowed or not."""
    source: SourceWords = FILES
    """The source of the desired rows."""
    paths: tuple[str, ...] = ()
    """The files and folders that the desired rows come from."""
    lists_instances: bool = False
    """Whether the files list instances."""

    @property
    def is_in_sync(self) -> bool:
        """Whether all three layers agree with the files."""
        return all(module.is_in_sync for module in self.modules)

    def counts(self, layer: Layer = Layer.RUNTIME) -> dict[str, int]:
        """Return how many rows are added, changed and deleted in a layer."""
        totals: Counter[str] = Counter()
        for module in self.modules:
            totals += module.counts(layer)
        return {action: totals[action] for action in (ADD, CHANGE, DELETE)}

    @property
    def secrets(self) -> list[Value]:
        """The secrets that the apply would write, in the order of the changes."""
        return [
            value_of(change.after, change.layout.index[field.column])
            for module in self.modules
            for change in module.changes
            for field in change.fields
            if field.is_secret and change.after is not None
        ]

    @property
    def fingerprint(self) -> str:
        """A hash of what the plan would do: address, changes, steps, refusals.

        Rows that are left alone do not count: connections that drain meanwhile change no step. A
        secret only counts as changed or unchanged: the rest of the plan is printed, so somebody
        could guess a secret from the hash.
        """
        return _hash([self.address, self.version, list(self._content())])

    @cached_property
    def likeness(self) -> str:
        """A hash that two instances share if their plans do the same and are printed alike.

        Secrets count as in the fingerprint.
        """
        printed = [
            *(self.left_alone, self.out_of_service, self.warnings, self.restart_required),
            [len(module.images) for module in self.modules],
            self.members,
            self.discarded,
            [(finding.finding, finding.where) for finding in self.findings],
            self.known_findings,
            self.skipped_checks,
        ]
        names = sorted(self.hostgroup_names.items())
        return _hash([self.version, self.saves, names, printed, list(self._content())])

    def _content(self) -> Iterator[object]:
        for module in self.modules:
            yield [module.name, module.load, module.save, len(module.images)]
            yield from map(_change_content, module.changes)
        yield [[refusal.code, refusal.message, *refusal.details] for refusal in self.refusals]
        if self.shard_moves:
            yield ["shard_moves", *map(list, self.shard_moves)]


def _hash(content: object) -> str:
    text = json.dumps(content, sort_keys=True, default=str, ensure_ascii=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _change_content(change: Change) -> list[object]:
    deleted = change.row if change.action == DELETE else None
    fields = []
    for changed in change.fields:
        values = ["secret"] if changed.is_secret else [changed.current, changed.desired]
        fields.append([changed.column, *values, *changed.layers])
    return [change.table, [*change.key], change.action, [*change.layers], fields, deleted]


def plan_module(
    module: AdminModule, diffs: dict[str, TableDiff], *, reload: bool = False
) -> ModulePlan:
    """Return the plan of one admin module from the diffs of its tables.

    `reload`: LOAD although nothing differs at RUNTIME (rules after a change of the regex engine).
    """
    changes = [
        change
        for name in sorted(diffs)
        if diffs[name].desired is not None
        for change in changes_of(diffs[name])
    ]
    return ModulePlan(
        module=module,
        diffs=diffs,
        changes=changes,
        load=reload or any(diff.changes.get(Layer.RUNTIME) for diff in diffs.values()),
        save=any(diff.changes.get(Layer.DISK) for diff in diffs.values()),
    )


def raise_refusals(plan: Plan, *, of_saved: bool = False) -> None:
    """Raise every reason not to apply as one error.

    `of_saved`: see `Refusal.below`. Raises: RefusedError.
    """
    if plan.refusals:
        raise RefusedError(
            f"{plan.name}: not applied",
            reasons=[
                line
                for refusal in plan.refusals
                for line in (
                    refusal.message,
                    *(f"  {line}" for line in refusal.below(of_saved=of_saved)),
                )
            ],
        )
