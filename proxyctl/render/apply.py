"""The results of an apply to one instance and of a rollout, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.apply.result import ApplyResult, ModuleResult
from proxyctl.fleet.outcome import Rolled, Rollout, State
from proxyctl.instance.cluster import PeerResult
from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.plan.plan import Plan
from proxyctl.render.encode import ABSENT, Shape
from proxyctl.render.fleet import FAILED, states_line
from proxyctl.render.plan import PLAN
from proxyctl.render.style import PLAIN, Style, named_address
from proxyctl.text import counted, printable


def apply_text(plan: Plan, result: ApplyResult | None, style: Style = PLAIN) -> str:
    """Return the report; `result` None: nothing was to do."""
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
        listed = ", ".join(f"{edits.count} in {edits.module}" for edits in plan.discarded)
        count = sum(edits.count for edits in plan.discarded)
        lines.append(f"{counted(count, 'pending edit')} discarded: {listed}.")
    if any(module.save for module in plan.modules) and not result.saves:
        lines.append("DISK was not changed: a restart of ProxySQL will revert the change.")
    lines += [f"note: {printable(note)}" for note in result.notes]
    lines += [f"restart required: {name}" for name in plan.restart_required]
    if result.peers and not result.not_following:
        lines.append(
            f"All {len(result.peers)} members of the ProxySQL Cluster have copied the change."
        )
    for peer in result.not_following:
        head, *reasons = _peer_lines(peer)
        lines += [head, *(f"  {reason}" for reason in reasons)]
    if result.snapshot:
        lines.append(f"The previous state, with its passwords, is kept in {result.snapshot}")
    return style.text("\n".join(lines))


def _peer_lines(peer: PeerResult) -> Iterator[str]:
    yield f"member {printable(peer.name)} has not copied the change:"
    yield from map(printable, peer.reasons)


def rollout_text(rollout: Rollout, style: Style = PLAIN) -> str:
    """Return the problems and notes of instances, then the counts."""
    lines = [line for rolled in rollout.rolled for line in _rolled_lines(rolled, style)]
    return "\n".join([*lines, _summary(rollout)]) + "\n"


def _rolled_lines(rolled: Rolled, style: Style) -> Iterator[str]:
    instance = named_address(rolled.name, rolled.address)
    if not rolled.is_well:
        yield f"{instance}: {style('refuse', rolled.state)}"
        yield from (f"  {line}" for line in _problems(rolled))
    elif rolled.notes:
        yield f"{instance}: {rolled.state}"
    yield from (f"  note: {printable(note)}" for note in rolled.notes)
    if not rolled.is_well and rolled.snapshot:
        yield f"  the previous state is kept in {printable(rolled.snapshot)}"


def _problems(rolled: Rolled) -> Iterator[str]:
    """Yield why the rollout stops after this instance."""
    if rolled.error is not None:
        yield from map(printable, rolled.error.lines())
    if rolled.shunned:
        yield f"SHUNNED since the change: {', '.join(map(printable, rolled.shunned))}"
    for peer in rolled.behind:
        yield from _peer_lines(peer)


def _summary(rollout: Rollout) -> str:
    names: dict[str, list[str]] = {
        state: [rolled.name for rolled in rollout.rolled if rolled.state is state]
        for state in State
    }
    return states_line(names, rollout.unread, counted_only=[State.IN_SYNC])


def apply_json(plan: Plan, result: ApplyResult | None, *, watch: object = ABSENT) -> str:
    """Return the plan that was applied, its result, and what a watch saw, as plain data."""
    return APPLY.document(
        result or ApplyResult(), applied=result is not None, plan=PLAN.encode(plan), watch=watch
    )


APPLY: Shape[ApplyResult] = Shape(
    "apply",
    "applied plan modules statements notes snapshot peers watch",
    modules=lambda result: MODULE_RESULT.each(result.modules),
    peers=lambda result: PEER.each(result.peers),
)
MODULE_RESULT: Shape[ModuleResult] = Shape(
    "admin module after an apply", "module memory runtime disk", module=lambda module: module.name
)
PEER: Shape[PeerResult] = Shape("member of a ProxySQL Cluster", "name follows reasons")
ROLLOUT: Shape[Rollout] = Shape(
    "apply --all",
    "rollout interrupted instances failed watch",
    rollout=lambda rollout: rollout.id,
    interrupted=lambda rollout: rollout.was_interrupted,
    instances=lambda rollout: ROLLED.each(rollout.rolled),
    failed=lambda rollout: FAILED.each(rollout.unread),
    watch=lambda _rollout: ABSENT,
)
ROLLBACK_ALL: Shape[Rollout] = ROLLOUT.extended("rollback --all", "taken_back not_part")
ROLLED: Shape[Rolled] = Shape(
    "instance after a rollout",
    "name address state problems notes snapshot",
    problems=lambda rolled: [*_problems(rolled)],
)
