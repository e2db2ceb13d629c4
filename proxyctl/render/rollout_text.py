"""What became of the instances of a fleet, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterator

from proxyctl.errors import counted
from proxyctl.fleet.outcome import Rolled, Rollout, State
from proxyctl.render.apply_text import peer_lines
from proxyctl.render.fleet_text import listed_names
from proxyctl.render.plan_machine import failed_object
from proxyctl.render.style import PLAIN, Style
from proxyctl.text import printable

FORMAT = 1


def rollout_text(rollout: Rollout, style: Style = PLAIN) -> str:
    """Return what is to be known of instances, where there is anything, and a line that counts."""
    lines = [line for one in rollout.rolled for line in _lines(one, style)]
    return "\n".join([*lines, _summary(rollout)]) + "\n"


def _lines(one: Rolled, style: Style) -> Iterator[str]:
    name = f"{one.name}  " if one.name != one.address else ""
    if not one.is_well:
        yield f"{printable(name + one.address)}: {style('refuse', one.state)}"
        yield from (f"  {line}" for line in _problems(one))
    elif one.notes:
        yield f"{printable(name + one.address)}: {one.state}"
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
        yield from (line.strip() for line in peer_lines(peer))


def _summary(rollout: Rollout) -> str:
    parts = []
    for state in State:
        names = [one.name for one in rollout.rolled if one.state is state]
        if names:
            listed = "" if state is State.IN_SYNC else f": {listed_names(names)}"
            parts.append(f"{len(names)} {state}{listed}")
    if rollout.unread:
        parts.append(
            f"{len(rollout.unread)} not read: {listed_names([one.name for one in rollout.unread])}"
        )
    count = counted(len(rollout.rolled) + len(rollout.unread), "instance")
    return f"Fleet of {count}: {'; '.join(parts)}."


def rollout_json(rollout: Rollout) -> str:
    """Return what became of each instance as JSON. Shape: docs/reference/json.md."""
    document = {
        "format": FORMAT,
        "interrupted": rollout.was_interrupted,
        "instances": [_object(one) for one in rollout.rolled],
        "failed": [failed_object(one) for one in rollout.unread],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _object(one: Rolled) -> dict[str, object]:
    return {
        "name": one.name,
        "address": one.address,
        "state": str(one.state),
        "problems": [*_problems(one)],
        "notes": list(one.notes),
        "snapshot": one.snapshot,
    }
