"""Drain or restore one node at many instances.

    find it at all -> drain it at one after the other -> wait at all until it is unused

If an instance refuses or fails, a drain is undone: the node is restored wherever this command
drained it. A restore is not undone, since a node in service does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from proxyctl.errors import (
    ApplyError,
    ExitCode,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
)
from proxyctl.fleet.failed import Failed, worst
from proxyctl.fleet.members import group_by_cluster
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import read_peers
from proxyctl.instance.interrupts import interruptible, uninterrupted
from proxyctl.instance.read import read_layer, read_layouts
from proxyctl.nodes.drain import NodeRequest, NodeResult, drain, restore, wait_until_unused
from proxyctl.nodes.drain_decision import comments_by_node, find_node
from proxyctl.proxysql.servers import server_reader
from proxyctl.proxysql.topology import Node, node_text
from proxyctl.rows.row import Layer


class NodeState(StrEnum):
    """The result of a drain or restore for one instance."""

    DRAINED = "drained"
    ALREADY_DRAINED = "already drained"
    RESTORED = "restored"
    NOT_DRAINED = "not drained"
    """A restore had nothing to do."""
    UNDONE = "drained and restored"
    """Another instance refused or failed."""
    NOT_THERE = "not there"
    """The instance has no such node."""
    FAILED = "failed"
    NOT_TOUCHED = "not touched"


_CHANGED = (NodeState.DRAINED, NodeState.RESTORED, NodeState.UNDONE)
_IS_OUT = (NodeState.DRAINED, NodeState.ALREADY_DRAINED)


@dataclass(frozen=True)
class FleetNodeRequest:
    """A drain or restore of a node at many instances."""

    each: NodeRequest
    """The request for each instance."""
    keeps_going: bool = False
    """Whether to go on after an instance that refuses, fails or cannot be read."""
    workers: int = 1
    """The number of instances that are read at the same time."""
    wait_s: float | None = None
    """The longest wait until no connection to the drained node is in use; None does not wait.
    Units: seconds."""


@dataclass(frozen=True)
class NodeOutcome:
    """One instance after a drain or restore."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    state: NodeState
    """The result for the instance."""
    error: ProxyctlError | None = None
    """The error of the drain, the wait, or the restore."""
    unused: bool = False
    """Whether the command saw that no connection to the drained node is in use."""


@dataclass(frozen=True)
class FleetNodeResult:
    """The result of a drain or restore at many instances."""

    node: Node | None
    """Host and port; None if no instance could be read."""
    instances: Sequence[NodeOutcome]
    """The instances that could be read, in the order of the files."""
    unread: Sequence[Failed] = ()
    """The instances that could not be read."""
    was_interrupted: bool = False
    """Whether the user interrupted the command."""

    @property
    def is_unused(self) -> bool:
        """Whether no connection is in use at any instance where the node is drained."""
        is_out = [outcome for outcome in self.instances if outcome.state in _IS_OUT]
        return bool(is_out) and all(outcome.unused for outcome in is_out)

    @property
    def stopped_at_unread(self) -> bool:
        """Whether no instance was changed because another could not be read."""
        untouched = (NodeState.NOT_TOUCHED, NodeState.NOT_THERE)
        states = [outcome.state for outcome in self.instances]
        is_untouched = all(state in untouched for state in states)
        return bool(self.unread and states) and is_untouched and not self.was_interrupted

    @property
    def exit_code(self) -> ExitCode:
        """The worst code; 4 when an instance was changed and another was not."""
        if self.was_interrupted:
            return ExitCode.INTERRUPTED
        errors = [outcome.error for outcome in self.instances if outcome.error is not None]
        codes = [
            error.exit_code for error in (*errors, *(failure.error for failure in self.unread))
        ]
        if codes and any(outcome.state in _CHANGED for outcome in self.instances):
            codes.append(ExitCode.INCOMPLETE)
        return worst(codes)


def drain_at_all(targets: Sequence[Target], request: FleetNodeRequest) -> FleetNodeResult:
    """Drain a node at every instance that has it.

    Nothing is changed if an instance cannot be read, unless the request keeps going. Raises:
    UsageError, RefusedError before any change.
    """
    return NodeOperation(targets, request).run(drain, NodeState.DRAINED, NodeState.ALREADY_DRAINED)


def restore_at_all(targets: Sequence[Target], request: FleetNodeRequest) -> FleetNodeResult:
    """Restore a node at every instance that has it. As `drain_at_all`, but never undone."""
    return NodeOperation(targets, request).run(restore, NodeState.RESTORED, NodeState.NOT_DRAINED)


class NodeOperation:
    """A drain or restore in progress. `_outcomes`: the result of each instance so far."""

    def __init__(self, targets: Sequence[Target], request: FleetNodeRequest) -> None:
        self._request = request
        self._was_interrupted = False
        seen, self._unread = at_all(targets, _nodes_of, workers=request.workers)
        comments: dict[Node, set[str]] = {}
        for instance in seen:
            for node, node_comments in instance.nodes.items():
                comments.setdefault(node, set()).update(node_comments)
        self._node = find_node(request.each.node, comments) if seen else None
        having = [instance for instance in seen if self._node in instance.nodes]
        _refuse_members(having)
        self._having = [instance.target for instance in having]
        self._outcomes = {
            instance.target: NodeOutcome(
                instance.target.name,
                instance.target.login.address,
                NodeState.NOT_TOUCHED if instance in having else NodeState.NOT_THERE,
            )
            for instance in seen
        }

    @property
    def _name(self) -> str:
        return node_text(self._node) if self._node else ""

    def run(
        self,
        work: Callable[[AdminClient, NodeRequest], NodeResult],
        changed: NodeState,
        unchanged: NodeState,
    ) -> FleetNodeResult:
        """Do the work at one instance after the other; then wait. Returns the results."""
        if self._request.keeps_going or not self._unread:
            with interruptible():
                if self._change(work, changed, unchanged):
                    self._wait()
                elif changed is NodeState.DRAINED and not self._request.keeps_going:
                    with uninterrupted():
                        self._undo()
        outcomes = [*self._outcomes.values()]
        return FleetNodeResult(self._node, outcomes, self._unread, self._was_interrupted)

    def _change(
        self,
        work: Callable[[AdminClient, NodeRequest], NodeResult],
        changed: NodeState,
        unchanged: NodeState,
    ) -> bool:
        """Return whether the work came to its end."""
        for target in self._having:
            try:
                with target.connect() as client:
                    is_changed = work(client, self._request_for(target)).is_changed
            except KeyboardInterrupt:
                self._was_interrupted = True
            except Exception as error:
                self._was_interrupted |= isinstance(error, InterruptedApplyError)
                self._set(target, NodeState.FAILED, self._error_of(target, error))
            else:
                state = changed if is_changed else unchanged
                self._set(target, state)
                self._request.each.reporter.progress(f"{target.name}: {self._name} is {state}")
                continue
            if self._was_interrupted or not self._request.keeps_going:
                return False
        return True

    def _request_for(self, target: Target) -> NodeRequest:
        request = self._request.each
        return replace(request, node=self._name, reporter=request.reporter.named(target.name))

    def _error_of(self, target: Target, error: Exception) -> ProxyctlError:
        expected = target.expected_error(error)
        if isinstance(error, ProxyctlError):
            return expected
        unknown = f"it is not known whether {self._name} is drained there"
        return ApplyError(expected.message, then=[unknown], fix=expected.fix)

    def _set(self, target: Target, state: NodeState, error: ProxyctlError | None = None) -> None:
        self._outcomes[target] = replace(self._outcomes[target], state=state, error=error)

    def _undo(self) -> None:
        """Restore the node where this command drained it, or may have. Changes: `_outcomes`."""
        for target, outcome in self._to_undo():
            try:
                with target.connect() as client:
                    restore(client, self._request_for(target))
            except Exception as error:
                cause = target.expected_error(error)
                first = [outcome.error.message, *outcome.error.then] if outcome.error else []
                failure = ApplyError(
                    f"{self._name} could not be restored: {cause.message}",
                    then=[*cause.lines()[1:], *first],
                    fix=f"run proxyctl nodes restore {self._name} --instance {target.name}",
                )
                self._set(target, outcome.state, failure)
            else:
                self._set(target, NodeState.UNDONE, outcome.error)
                self._request.each.reporter.progress(
                    f"{target.name}: {self._name} is restored, because the drain stopped"
                )

    def _to_undo(self) -> Iterator[tuple[Target, NodeOutcome]]:
        for target, outcome in reversed([*self._outcomes.items()]):
            # Before any change, a drain raises another error.
            if outcome.state is NodeState.DRAINED or isinstance(outcome.error, ApplyError):
                yield target, outcome

    def _wait(self) -> None:
        """Wait at all instances at the same time. Changes: `_outcomes`."""
        timeout_s, node = self._request.wait_s, self._node
        drained = [target for target, outcome in self._outcomes.items() if outcome.state in _IS_OUT]
        if timeout_s is None or node is None or not drained:
            return

        def wait(target: Target) -> Target:
            with target.connect() as client:
                reporter = self._request_for(target).reporter
                wait_until_unused(client, node, timeout_s=timeout_s, reporter=reporter)
            return target

        try:
            unused, failed = at_all(drained, wait, workers=len(drained))
        except KeyboardInterrupt:
            self._was_interrupted = True
            self._request.each.reporter.progress(
                f"interrupted: {self._name} is drained but may still be in use"
            )
            return
        errors = {failure.name: failure.error for failure in failed}
        for target in drained:
            self._outcomes[target] = replace(
                self._outcomes[target], unused=target in unused, error=errors.get(target.name)
            )


@dataclass(frozen=True)
class NodesOfInstance:
    """The nodes and the cluster of an instance."""

    target: Target
    nodes: Mapping[Node, Collection[str]]
    """The comments of each node in MEMORY or at RUNTIME."""
    members: tuple[Node, ...]
    """The members of its ProxySQL Cluster."""


def _nodes_of(target: Target) -> NodesOfInstance:
    with target.connect() as client:
        layout = read_layouts(client)["mysql_servers"]
        read = server_reader(layout)
        rows = [
            row
            for layer in (Layer.MEMORY, Layer.RUNTIME)
            for row in read_layer(client, [layout], layer)[layout.name].values()
            if not read(row).is_off
        ]
        return NodesOfInstance(target, comments_by_node(layout, rows), read_peers(client))


def _refuse_members(having: Sequence[NodesOfInstance]) -> None:
    """Refuse members of one ProxySQL Cluster: to the others, a drain looks like configuration."""
    for positions in group_by_cluster(
        [set(map(node_text, instance.members)) for instance in having]
    ):
        if len(positions) > 1:
            names = ", ".join(having[position].target.name for position in positions)
            raise RefusedError(
                f"no instance was changed: {names} are members of one ProxySQL Cluster, so each"
                " copies what another loads",
                fix="leave out --all: drain the node on one of them with --instance, and restore it"
                " on the same one",
            )
