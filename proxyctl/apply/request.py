"""What an apply is asked to do: its options, its approval, and where it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from proxyctl.errors import RefusedError
from proxyctl.plan.change import Change
from proxyctl.plan.make import PlanOptions
from proxyctl.plan.plan import Plan
from proxyctl.plan.saved import SavedPlan
from proxyctl.rows.row import DesiredRow, Key, Layer
from proxyctl.snapshots.snapshot import APPLY

PEER_TIMEOUT_S = 30.0
"""The default time for the members of a ProxySQL Cluster to follow. Units: seconds."""


@dataclass(frozen=True)
class Approval:
    """What was approved: any plan, a plan that was shown, or a saved plan."""

    plan: Plan | SavedPlan | None = None
    """None: no approval is needed."""
    is_of_follower: bool = False
    """Whether the instance copies changes from another member of its ProxySQL Cluster, so that
    a part of the plan that was shown is approved, too."""

    @property
    def is_shown(self) -> bool:
        """Whether a person saw the plan just before."""
        return isinstance(self.plan, Plan)

    @property
    def is_saved(self) -> bool:
        """Whether refusals speak of a saved plan, whose options cannot change."""
        return isinstance(self.plan, SavedPlan)

    def check(self, plan: Plan) -> None:
        """Refuse a plan under the lock that is not the approved one. Raises: RefusedError."""
        if not self._covers(plan):
            raise RefusedError(
                f"{plan.name}: the plan is stale: the instance, the files or a secret has changed"
                " since it was made, or the plan has already been applied",
                fix="run plan again to see what differs now",
            )

    def _covers(self, plan: Plan) -> bool:
        if isinstance(self.plan, SavedPlan):
            return self.plan.matches(plan)
        if self.plan is None or plan.is_in_sync or plan.fingerprint == self.plan.fingerprint:
            return True
        return self.is_of_follower and _is_part(plan, self.plan)


def _is_part(plan: Plan, approved: Plan) -> bool:
    """Return whether the approved plan has all changes of a plan at RUNTIME.

    The plan may lack changes that the member has copied meanwhile. It may write more rows to
    MEMORY and DISK, since a member that copies rows drops others.
    """
    intended = {_intent(change) for module in approved.modules for change in module.changes}
    changes = (change for module in plan.modules for change in module.changes)
    return all(_intent(change) in intended for change in changes if Layer.RUNTIME in change.layers)


def _intent(change: Change) -> tuple[str, Key, DesiredRow | None]:
    """Return the table, the key and the desired row of a change; no row for a deletion."""
    return change.table, change.key, change.after


@dataclass(frozen=True)
class Reporter:
    """The functions that receive what an apply, a drain or a restore does."""

    progress: Callable[[str], None] = lambda _text: None
    """Receives each step before it runs, and what it waits for."""
    warning: Callable[[str], None] = lambda _text: None
    """Receives what another command left behind, and a lock that could not be released."""
    before: Callable[[Plan], None] = lambda _plan: None
    """Receives a plan that was not shown for its approval, before anything changes."""

    def named(self, name: str) -> Reporter:
        """Return a reporter that puts the name of an instance before each text."""
        return replace(
            self,
            progress=lambda text: self.progress(f"{name}: {text}"),
            warning=lambda text: self.warning(f"{name}: {text}"),
        )


NOT_NEEDED, SILENT = Approval(), Reporter()


@dataclass(frozen=True)
class ApplyRequest:
    """One apply."""

    options: PlanOptions
    """The options of its plan, which is made under the lock."""
    approval: Approval = NOT_NEEDED
    """The plan that was approved; any other is refused."""
    reporter: Reporter = SILENT
    """The functions that receive what it does."""
    lock_timeout_s: float = 30.0
    """How long to wait for another apply to finish. Units: seconds."""
    purpose: str = APPLY
    """The command that the lock and the new snapshot record."""
    sources: tuple[str, ...] = ()
    """The files or the snapshot that the new snapshot records."""
    rollout: str = ""
    """The id of the rollout that the new snapshot records; '' outside a rollout."""
    peer_timeout_s: float = PEER_TIMEOUT_S
    """How long to wait for the members of a ProxySQL Cluster; 0 does not wait. Units: seconds."""
