"""What an apply did, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from proxyctl.change import ADD, CHANGE, DELETE
from proxyctl.control_characters import printable
from proxyctl.errors import counted
from proxyctl.plan import Plan
from proxyctl.render.fleet_text import listed_names
from proxyctl.render.plan_machine import plan_object
from proxyctl.result import ApplyResult, PeerResult

FORMAT = 1


def apply_text(plan: Plan, result: ApplyResult | None) -> str:
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
    if any(module.save for module in plan.modules) and not result.saves:
        lines.append("DISK was left alone: a restart of ProxySQL takes the change back.")
    lines += [f"note: {printable(note)}" for note in result.notes]
    lines += [f"restart required: {name}" for name in plan.restart_required]
    lines += _peer_lines(result.peers)
    if result.snapshot:
        lines.append(f"The state before, with its passwords, is kept in {result.snapshot}")
    return "\n".join(lines) + "\n"


def _peer_lines(peers: Sequence[PeerResult]) -> Iterator[str]:
    """Yield which peers follow, and of the others why not, what they hold, and the way out."""
    read = [peer.name for peer in peers if peer.follows and peer.rows_read]
    agreeing = [peer.name for peer in peers if peer.follows and not peer.rows_read]
    for names, how in ((read, "RUNTIME was read there"), (agreeing, "its checksums agree")):
        if names:
            verb = "follows" if len(names) == 1 else "follow"
            listed = printable(listed_names(names))
            yield f"{counted(len(names), 'peer')} {verb}: {listed}; {how}."
    for peer in peers:
        yield from peer_lines(peer)


def peer_lines(peer: PeerResult) -> Iterator[str]:
    """Yield why a peer does not follow, and what is to be known of one that does."""
    if not peer.follows:
        yield f"peer {printable(peer.name)} does not follow:"
    modules: dict[str, list[str]] = {}
    for one in peer.reasons:
        text = one.text + (f"; {one.holds}" if one.holds else "")
        modules.setdefault(text, []).extend([one.module] if one.module else [])
    for text, names in modules.items():
        yield f"  {', '.join(names)}{': ' if names else ''}{printable(text)}"
    for way_out in dict.fromkeys(one.way_out for one in peer.reasons if one.way_out):
        yield f"  {printable(way_out)}"
    for note in peer.notes:
        yield f"note: peer {printable(peer.name)}: {printable(note)}"


def peer_object(peer: PeerResult) -> dict[str, object]:
    """Return what became of a change at a peer as plain data."""
    return {
        "name": peer.name,
        "follows": peer.follows,
        "rows_read": peer.rows_read,
        "reasons": [asdict(reason) for reason in peer.reasons],
        "notes": list(peer.notes),
    }


def apply_json(plan: Plan, result: ApplyResult | None) -> str:
    """Return the plan that was applied and what each layer holds now."""
    document = {
        "format": FORMAT,
        "applied": result is not None,
        "plan": plan_object(plan),
        "modules": [
            {"module": m.name, "memory": m.memory, "runtime": m.runtime, "disk": m.disk}
            for m in (result.modules if result else ())
        ],
        "statements": result.statements if result else 0,
        "notes": result.notes if result else [],
        "snapshot": result.snapshot if result else None,
        "peers": [peer_object(peer) for peer in (result.peers if result else ())],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
