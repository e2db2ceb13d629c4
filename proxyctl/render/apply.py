"""What an apply did to one instance, and what became of the instances of a rollout."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.apply.result import ApplyResult, ModuleResult
from proxyctl.errors import counted
from proxyctl.fleet.outcome import Rolled, Rollout, State
from proxyctl.instance.cluster import PeerResult
from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.plan.plan import Plan
from proxyctl.render.encode import Shape
from proxyctl.render.fleet import FAILED, names
from proxyctl.render.plan import PLAN
from proxyctl.render.style import PLAIN, Style, listed_names, named_address
from proxyctl.text import printable


def apply_text(plan: Plan, result: ApplyResult | None, style: Style = PLAIN) -> str:
    """Return the report; `result` None means that nothing had to be done."""
    if result is None:
        return ""
    counts = plan.counts()
    lines = [
        f"Applied to {printable(plan.name)}: {counts[ADD]} added, {counts[CHANGE]} changed,"
        f" {counts[DELETE]} deleted at RUNTIME."
        f" {counted(result.statements, 'statement')}, {result.loads} LOAD, {result.saves} SAVE;"
        " every layer was read back."
    ]
    if plan.discarded:
        listed = ", ".join(f"{one.count} in {one.module}" for one in plan.discarded)
        count = sum(one.count for one in plan.discarded)
        lines.append(f"{counted(count, 'pending edit')} discarded: {listed}.")
    if any(module.save for module in plan.modules) and not result.saves:
        lines.append("DISK was not changed: a restart of ProxySQL reverts the change.")
    lines += [f"note: {printable(note)}" for note in result.notes]
    lines += [f"restart required: {name}" for name in plan.restart_required]
    if result.peers and not result.not_following:
        lines.append(
            f"All {len(result.peers)} members of the ProxySQL Cluster have taken over the change."
        )
    for peer in result.not_following:
        head, *reasons = _peer_lines(peer)
        lines += [head, *(f"  {reason}" for reason in reasons)]
    if result.snapshot:
        lines.append(f"The state before, with its passwords, is kept in {result.snapshot}")
    return style.text("\n".join(lines))


def _peer_lines(peer: PeerResult) -> Iterator[str]:
    """Yield why a member of the cluster does not follow."""
    yield f"member {printable(peer.name)} has not taken over the change:"
    yield from map(printable, peer.reasons)


def rollout_text(rollout: Rollout, style: Style = PLAIN) -> str:
    """Return what is to be known of instances, where there is anything, and a line that counts."""
    lines = [line for one in rollout.rolled for line in _rolled_lines(one, style)]
    return "\n".join([*lines, _summary(rollout)]) + "\n"


def _rolled_lines(one: Rolled, style: Style) -> Iterator[str]:
    if not one.is_well:
        yield f"{named_address(one.name, one.address)}: {style('refuse', one.state)}"
        yield from (f"  {line}" for line in _problems(one))
    elif one.notes:
        yield f"{named_address(one.name, one.address)}: {one.state}"
    yield from (f"  note: {printable(note)}" for note in one.notes)
    if not one.is_well and one.snapshot:
        yield f"  the state before is kept in {printable(one.snapshot)}"


def _problems(one: Rolled) -> Iterator[str]:
    """Yield why the next batch does not begin."""
    if one.error is not None:
        yield from map(printable, one.error.lines())
    if one.shunned:
        yield f"SHUNNED since: {', '.join(map(printable, one.shunned))}"
    for peer in one.behind:
        yield from _peer_lines(peer)


def _summary(rollout: Rollout) -> str:
    parts = []
    for state in State:
        there = [one.name for one in rollout.rolled if one.state is state]
        if there:
            listed = "" if state is State.IN_SYNC else f": {listed_names(there)}"
            parts.append(f"{len(there)} {state}{listed}")
    if rollout.unread:
        parts.append(f"{len(rollout.unread)} not read: {names(rollout.unread)}")
    count = counted(len(rollout.rolled) + len(rollout.unread), "instance")
    return f"Fleet of {count}: {'; '.join(parts)}."


def apply_json(plan: Plan, result: ApplyResult | None) -> str:
    """Return the plan that was applied and what each layer holds now."""
    done = result or ApplyResult()
    return APPLY.document(done, applied=result is not None, plan=PLAN.encode(plan))


APPLY: Shape[ApplyResult] = Shape(
    "apply",
    "applied plan modules statements notes snapshot peers",
    modules=lambda one: MODULE_RESULT.each(one.modules),
    peers=lambda one: PEER.each(one.peers),
)
MODULE_RESULT: Shape[ModuleResult] = Shape(
    "admin module after an apply", "module memory runtime disk", module=lambda one: one.name
)
PEER: Shape[PeerResult] = Shape("member of a ProxySQL Cluster", "name follows reasons")
ROLLOUT: Shape[Rollout] = Shape(
    "apply --all",
    "interrupted instances failed",
    interrupted=lambda one: one.was_interrupted,
    instances=lambda one: ROLLED.each(one.rolled),
    failed=lambda one: FAILED.each(one.unread),
)
ROLLED: Shape[Rolled] = Shape(
    "instance after a rollout",
    "name address state problems notes snapshot",
    problems=lambda one: [*_problems(one)],
)
