"""What an apply did, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from proxyctl.apply.result import ApplyResult
from proxyctl.errors import counted
from proxyctl.instance.cluster import PeerResult
from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.plan.plan import Plan
from proxyctl.render.plan_machine import plan_object
from proxyctl.text import printable

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
    """Yield whether the members of the cluster hold it, and of the others why not."""
    if peers and all(peer.follows for peer in peers):
        yield f"All {len(peers)} members of the ProxySQL Cluster hold it."
    for peer in peers:
        yield from peer_lines(peer)


def peer_lines(peer: PeerResult) -> Iterator[str]:
    """Yield why a member does not follow."""
    if not peer.follows:
        yield f"member {printable(peer.name)} does not follow:"
        yield from (f"  {printable(reason)}" for reason in peer.reasons)


def peer_object(peer: PeerResult) -> dict[str, object]:
    """Return what became of a change at a member as plain data."""
    return {"name": peer.name, "follows": peer.follows, "reasons": list(peer.reasons)}


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
