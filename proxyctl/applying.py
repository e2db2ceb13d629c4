"""Apply to one instance: lock, read everything again, and act if it is what was approved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from proxyctl.admin.apply import ApplyOptions, apply_plan
from proxyctl.admin.awaiting_restart import AwaitingRestart
from proxyctl.admin.client import AdminClient
from proxyctl.admin.connect import Login
from proxyctl.admin.interrupts import uninterrupted
from proxyctl.admin.lock import Lock
from proxyctl.admin.members import Members, same_account
from proxyctl.admin.peers_waiting import PeersWaiting
from proxyctl.admin.read import TableReader
from proxyctl.catalog import AdminModule
from proxyctl.cluster.membership import Membership
from proxyctl.config.load import ParsedFiles
from proxyctl.errors import (
    ApplyError,
    ConnectionLostError,
    InterruptedApplyError,
    RefusedError,
    said_of,
)
from proxyctl.families import Node
from proxyctl.plan import ModulePlan, Plan, Refusal, ordered, raise_refusals
from proxyctl.result import ApplyResult, PeerResult
from proxyctl.snapshots.snapshot import APPLY, header_of
from proxyctl.snapshots.taking import TablesRead
from proxyctl.sql import Statement
from proxyctl.workflow import PlanOptions, plan_files


@dataclass(frozen=True)
class PeerRules:
    """How long the other members of a cluster are waited for, and who we are there.

    `login_at` is given our login at the instance and a member's host and port. Units: `timeout_s`
    seconds; 0 waits for nobody.
    """

    timeout_s: float = 30.0
    login_at: Callable[[Login, Node], Login] = same_account


DEFAULT_PEERS = PeerRules()


@dataclass(frozen=True)
class ApplyRequest:
    """One apply: what is allowed, what was approved, and who is told about it.

    `is_approved`: whether a plan, read again under the lock, is the one that a person saw.
    `before`: called with the plan before anything is changed. `purpose` and `sources` tell others
    what is under way: the files, or the snapshot. Units: `lock_timeout_s` seconds.
    """

    options: PlanOptions
    is_approved: Callable[[Plan], bool] = lambda _plan: True
    lock_timeout_s: float = 30.0
    before: Callable[[Plan], None] = lambda _plan: None
    progress: Callable[[str], None] = lambda _text: None
    purpose: str = APPLY
    sources: tuple[str, ...] = ()
    peers: PeerRules = DEFAULT_PEERS


Planner = Callable[[AdminClient, PlanOptions, TableReader | None], Plan]
"""Makes a plan of an instance, reading it with the reader or one of its own."""


def apply_files(
    client: AdminClient, files: ParsedFiles, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Apply what the files say. Returns and raises like `apply_planned`; also ConfigError."""

    def planner(at: AdminClient, options: PlanOptions, reader: TableReader | None) -> Plan:
        return plan_files(at, files, options, reader=reader)

    return apply_planned(client, planner, request)


def apply_planned(
    client: AdminClient, planner: Planner, request: ApplyRequest
) -> tuple[Plan, ApplyResult | None]:
    """Return the plan that was applied, and what became of it; None where nothing differed.

    Raises: RefusedError when the lock is held, the plan is stale or a guard refuses; InstanceError
    when nothing was loaded; ApplyError when layers may have changed.
    """
    lock = Lock(client, request.purpose)
    members = Members(client, partial(request.peers.login_at, client.login), request.progress)
    tables = TablesRead()
    try:
        members.take(lock, timeout_s=request.lock_timeout_s)
        _put_memory_back(client, lock, request.progress)
        reader = TableReader(client, tee=tables.add)
        options = replace(
            request.options,
            leftovers=lock.leftovers,
            membership=members.look() if members.listed else None,
        )
        found = _planned(client, planner, options, reader)
        if not request.is_approved(found):
            raise RefusedError(
                f"{found.name}: the plan is stale: the instance, the files or a secret changed"
                " since it was made",
                hint="run plan again and look at what is different now",
            )
        found = replace(
            found,
            refusals=[*found.refusals, *_refused_for_peers(found, options, members, lock)],
        )
        request.before(found)
        raise_refusals(found)
        if found.is_in_sync:
            lock.finished({module.name for module in found.modules})
            return found, None
        awaiting = AwaitingRestart(members)
        awaiting.note(found.modules, options.membership or Membership())

        def before_load(module: AdminModule) -> None:
            members.wait_for_a_later_second(module)
            awaiting.before_load(module)

        kept = tables.keep(header_of(found, request.purpose, request.sources))
        how = ApplyOptions(
            options.saves,
            request.progress,
            before_load,
        )
        with awaiting.named_in_errors():
            result = apply_plan(client, found, lock, how)
        with awaiting.named_in_errors(), applied(result):
            result.snapshot = str(kept)
            lock.finished({module.name for module in found.modules})
            if request.peers.timeout_s:
                try:
                    result.peers = _peers(members, lock, awaiting, planner, found, request)
                except RefusedError:
                    for module in result.modules if lock.is_lost else ():
                        module.disown()
                    raise
            result.notes.extend(awaiting.left())
        return found, result
    finally:
        with uninterrupted():
            lock.give_back(request.progress)
            members.close()


def _refused_for_peers(
    plan: Plan, options: PlanOptions, members: Members, lock: Lock
) -> list[Refusal]:
    """Return what stands against it that peers take over what the plan loads."""
    if options.membership is None:
        return []
    # Most instances have no peers, and need nothing of it.
    from proxyctl.edits_at_peers import EditsAtPeers

    return EditsAtPeers(members, options.membership, lock).lost(
        plan.modules,
        source=plan.source,
        discards=options.discard_pending,
    )


def _peers(
    members: Members,
    lock: Lock,
    awaiting: AwaitingRestart,
    planner: Planner,
    plan: Plan,
    request: ApplyRequest,
) -> list[PeerResult]:
    """Wait until the other members of the cluster hold what was loaded."""
    loaded = [module.name for module in plan.modules if module.images]
    if not (loaded and members.listed):
        return []  # one that has just become a member: the others need not know it yet
    options = replace(request.options, membership=Membership())

    def modules_at(peer: AdminClient) -> list[ModulePlan]:
        found = planner(peer, options, None)
        return [module for module in found.modules if module.name in loaded]

    waiting = PeersWaiting(members, lock, modules_at, request.progress, awaiting)
    return waiting.wait(loaded, request.peers.timeout_s)


def _put_memory_back(client: AdminClient, lock: Lock, say: Callable[[str], None]) -> None:
    """Let MEMORY come from DISK where an apply died that had staged a module.

    Only where both were the same before; elsewhere somebody's edits are among what it left.
    """
    for module in ordered(name for name, was in lock.leftovers.items() if was):
        say(f"{module.name}: an apply died while it wrote MEMORY, which comes from DISK again")
        client.execute(Statement.plain(f"LOAD {module.name} FROM DISK"))


@contextmanager
def applied(result: ApplyResult | None) -> Iterator[None]:
    """Whatever goes wrong after an apply: say that it is done."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if result is None:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = [module.text() for module in result.modules]
        reason, *then = said_of(error)
        failure = kind(f"applied and read back, but then: {reason}", then=then, layers=layers)
        failure.snapshot = result.snapshot
        raise failure from error


def _planned(
    client: AdminClient, planner: Planner, options: PlanOptions, reader: TableReader
) -> Plan:
    try:
        return planner(client, options, reader)
    except ConnectionLostError as error:
        raise ConnectionLostError(
            error.message, then=[*error.then, "nothing was changed"], hint=error.hint
        ) from error
