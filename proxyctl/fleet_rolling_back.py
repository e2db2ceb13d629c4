"""An instance of a fleet back to where it was, and who of its cluster goes back with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from proxyctl.applying import ApplyRequest, apply_planned
from proxyctl.fleet.rollout import Rolled, State
from proxyctl.fleet_planning import Target
from proxyctl.fleet_units import Unit, told_of
from proxyctl.render.apply_text import peer_lines
from proxyctl.result import ApplyResult, PeerResult
from proxyctl.snapshots import folder
from proxyctl.snapshots.rollback import rollback_plan
from proxyctl.snapshots.snapshot import ROLLBACK


def brought_back(
    target: Target,
    unit: Unit,
    found: Mapping[Target, Rolled],
    request: ApplyRequest,
    say: Callable[[str], None],
) -> dict[Target, Rolled]:
    """Bring an instance back to its snapshot, and return what became of it and of its unit.

    Members that took over what was loaded there go back by following. `found`: what became of all
    before; of the unit those that were changed later are back already.
    """
    one = found[target]
    try:
        result = _rolled_back(target, unit, one, request, say)
    except Exception as error:  # also a bug: the others are to go back
        return {target: replace(one, state=State.NOT_ROLLED_BACK, error=target.told(error))}
    back = {target: replace(one, state=State.ROLLED_BACK, notes=())}
    if result is None:
        return back
    back[target] = replace(back[target], notes=told_of(result))
    members = unit.targets_at([peer.node for peer in result.peers])
    for peer in result.peers:
        member = members.get(peer.node)
        was = found.get(member) if member is not None else None
        if member is not None and was is not None and _followed(was):
            back[member] = _with(was, peer)
        elif member is not None and was is not None and was.state is State.ROLLED_BACK:
            # What it was loaded with itself is back; the rest it had taken over.
            rest = tuple(why for why in peer.reasons if why.module not in was.loaded)
            if rest:
                back[member] = _with(was, replace(peer, reasons=rest))
        elif not peer.follows:
            back[target] = _with(back[target], peer, state=State.ROLLED_BACK)
        elif member is not None and was is not None and was.state is State.NOT_TOUCHED:
            # Nobody came to it, and it holds nothing of what was loaded elsewhere any more.
            back[member] = replace(was, notes=())
    return back


def _followed(was: Rolled) -> bool:
    """Return whether a member only followed: it has no state of before to go back to."""
    return was.state in (State.FOLLOWED, State.UNHEALTHY) and was.snapshot is None


def _with(was: Rolled, peer: PeerResult, *, state: State | None = None) -> Rolled:
    """Return what became of an instance, with what a member does that is to follow it back."""
    if peer.follows:
        return replace(was, state=State.ROLLED_BACK)
    said = tuple(line.strip() for line in peer_lines(peer))
    return replace(was, state=state or State.NOT_ROLLED_BACK, reasons=(*was.reasons, *said))


def _rolled_back(
    target: Target,
    unit: Unit,
    one: Rolled,
    request: ApplyRequest,
    say: Callable[[str], None],
) -> ApplyResult | None:
    """Go back to the snapshot of an instance. Raises: as `apply_planned`."""
    with target.connect() as client:
        back_to = folder.read(Path(str(one.snapshot)))
        return apply_planned(
            client,
            lambda at, options, reader: rollback_plan(at, back_to, options, reader=reader),
            replace(
                request,
                options=replace(request.options, force=True),
                progress=lambda text: say(f"{target.name}: {text}"),
                purpose=ROLLBACK,
                sources=(back_to.name,),
                peers=unit.peer_rules(request.peers),
            ),
        )[1]
