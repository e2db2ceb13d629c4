"""Take back a rollout: each instance returns to the snapshot that the rollout took of it.

A rollout gives its snapshots an id. An instance without a snapshot of that id was not changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from proxyctl.apply.apply import apply_planned
from proxyctl.apply.request import ApplyRequest
from proxyctl.apply.result import ApplyResult
from proxyctl.errors import ProxyctlError
from proxyctl.fleet.members import as_rolled_back
from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.fleet.plan import plan_each
from proxyctl.fleet.rollout import Applier
from proxyctl.fleet.targets import Target
from proxyctl.instance.client import AdminClient
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan
from proxyctl.snapshots.folder import history, read, state_folder
from proxyctl.snapshots.rollback import check_fit, rollback_plan
from proxyctl.snapshots.snapshot import BY_HAND, Header, Kept, Snapshot
from proxyctl.text import counted


@dataclass(frozen=True)
class RolloutSnapshots:
    """The snapshots of one rollout."""

    rollout: str
    """The id of the rollout."""
    kept: Mapping[Target, Kept]
    """The snapshot of each instance that the rollout changed, in the order of the files."""
    since: Mapping[Target, Sequence[Header]]
    """The snapshots that were taken of these instances before later changes, newest first."""
    without: Sequence[Target]
    """The instances without a snapshot of the rollout."""

    @property
    def header(self) -> Header:
        """The header of the first snapshot."""
        return next(kept.header for kept in self.kept.values() if kept.header)

    def read(self, target: Target) -> Snapshot:
        """Return the snapshot of an instance. Raises: SnapshotFileError.

        It is named after the rollout, so that the plans of several instances read alike.
        """
        name = f"the snapshot of rollout {self.rollout}"
        return replace(read(self.kept[target].path), name=name)


def find_rollout(targets: Sequence[Target], which: str | None) -> RolloutSnapshots:
    """Return the snapshots of a rollout by its id; None: of the newest rollout.

    Reads files only. Raises: ProxyctlError.
    """
    histories = {target: history(target.login.address) for target in targets}
    rollouts = sorted(
        (kept.name, kept.header.rollout)
        for snapshots in histories.values()
        for kept in snapshots
        if kept.header and kept.header.rollout
    )
    if not rollouts:
        raise ProxyctlError(
            f"there is no snapshot of a rollout of these instances in {state_folder()}",
            fix="run this where apply --all ran, or choose the folder of its snapshots with"
            " PROXYCTL_STATE_DIR",
        )
    rollout = rollouts[-1][1] if which is None else which
    if rollout not in {rollout for _, rollout in rollouts}:
        raise ProxyctlError(
            f"there is no rollout {rollout} among the snapshots of these instances",
            fix="list them with proxyctl history --all",
        )
    kept: dict[Target, Kept] = {}
    since: dict[Target, list[Header]] = {}
    for target, snapshots in histories.items():
        numbers = [n for n, snapshot in enumerate(snapshots) if _is_of(snapshot, rollout)]
        if numbers:
            kept[target] = snapshots[numbers[-1]]
            since[target] = [
                snapshot.header
                for snapshot in snapshots[: numbers[0]]
                if snapshot.header and snapshot.header.before != BY_HAND
            ]
        else:
            _refuse_unknown(target, snapshots, rollout)
    return RolloutSnapshots(
        rollout, kept, since, [target for target in targets if target not in kept]
    )


def _is_of(kept: Kept, rollout: str) -> bool:
    return kept.header is not None and kept.header.rollout == rollout


def _refuse_unknown(target: Target, snapshots: Sequence[Kept], rollout: str) -> None:
    """Refuse an instance that may have been part of the rollout. Raises: ProxyctlError."""
    for kept in snapshots:
        if kept.header is None:
            raise ProxyctlError(
                f"{target.name}: it is not known whether it was part of rollout {rollout}: the"
                f" snapshot {kept.name} cannot be used: {kept.problem}",
                fix=f"move {kept.path} elsewhere, or roll back each instance with --instance",
            )


def plan_rollback(
    snapshots: RolloutSnapshots,
    options: PlanOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> Fleet:
    """Return the plans back to the snapshots, with a warning where somebody applied since.

    Sends SELECTs only. See `plan_each`.
    """

    def plan(client: AdminClient, target: Target) -> Plan:
        snapshot = snapshots.read(target)
        check_fit(client, snapshot)
        return rollback_plan(client, snapshot, options)[0]

    fleet = plan_each([*snapshots.kept], plan, workers=workers, done=done)
    notes = {
        target.name: _since(snapshots.rollout, snapshots.since[target]) for target in snapshots.kept
    }
    planned: list[Planned] = [
        replace(instance, notes=notes[instance.name]) for instance in fleet.planned
    ]
    return as_rolled_back(replace(fleet, planned=planned))


def _since(rollout: str, headers: Sequence[Header]) -> list[str]:
    if not headers:
        return []
    last = headers[0]
    at = last.taken_at.replace("+00:00", "Z")
    return [
        f"{counted(len(headers), 'later change')} since rollout {rollout}, the last one by"
        f" {last.by} at {at}: {last.command}; the plan also takes back what was changed since in"
        " the same rows"
    ]


def applier_of(snapshots: RolloutSnapshots) -> Applier:
    """Return the function that takes one instance back to its snapshot."""

    def apply(
        client: AdminClient, target: Target, request: ApplyRequest
    ) -> tuple[Plan, ApplyResult | None]:
        snapshot = snapshots.read(target)
        return apply_planned(
            client,
            lambda staged: rollback_plan(client, snapshot, request.options, staged),
            replace(request, sources=(f"rollout {snapshots.rollout}",)),
        )

    return apply
