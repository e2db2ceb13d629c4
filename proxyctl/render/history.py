"""The snapshots of an instance, as text and JSON. Cells of a snapshot are never shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl.fleet.failed import Failed
from proxyctl.fleet.rollback import RolloutSnapshots
from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.render.encode import Shape
from proxyctl.render.fleet import FAILED
from proxyctl.render.style import PLAIN, Style, listed_names, named_address
from proxyctl.snapshots.folder import InstanceHistory, Taken
from proxyctl.snapshots.snapshot import BY_HAND, Header, Kept
from proxyctl.stats.units import size_text
from proxyctl.text import printable

_ACTIONS = {ADD: "added", CHANGE: "changed", DELETE: "deleted"}


def history_text(snapshots: Sequence[Kept], style: Style = PLAIN) -> str:
    """Return two lines per snapshot, the newest first."""
    width = len(str(len(snapshots)))
    return "\n".join(line for kept in snapshots for line in _lines(kept, style, width)) + "\n"


def histories_text(histories: Sequence[InstanceHistory], style: Style = PLAIN) -> str:
    """Return the snapshots of each instance below its name."""
    blocks = [
        f"{style('bold', named_address(history.name, history.address))}\n"
        + (history_text(history.snapshots, style) if history.snapshots else "no snapshot\n")
        for history in histories
    ]
    return "\n".join(blocks)


def _lines(kept: Kept, style: Style, width: int) -> Iterator[str]:
    indent = " " * (width + 2)
    number = style("bold", f"{kept.number:>{width}}")
    if kept.header is None:
        yield f"{number}  {printable(kept.name)}  {size_text(kept.size)}"
        yield f"{indent}{style('refuse', 'cannot be used')}: {printable(kept.problem)}"
        return
    yield f"{number}  {snapshot_time(kept.header)}"
    changes = "; ".join(
        f"{printable(module)} {_counts(counts)}" for module, counts in kept.header.changes.items()
    )
    parts = [printable(kept.name), size_text(kept.size), changes]
    text = "  ".join(part for part in parts if part)
    yield from style.lines(text, first=indent, then=f"{indent}  ")


def snapshot_time(header: Header) -> str:
    """Return when the snapshot was taken, by whom, and before which command and rollout."""
    at, by = printable(header.taken_at.replace("+00:00", "Z")), printable(header.by)
    if header.before == BY_HAND:
        return f"taken {at} by {by}"
    rollout = f", rollout {printable(header.rollout)}" if header.rollout else ""
    return f"taken {at}, before {printable(header.command)} by {by}{rollout}"


def rollout_lines(snapshots: RolloutSnapshots) -> Iterator[str]:
    """Yield the rollout that is taken back, and the instances that were not part of it."""
    header = snapshots.header
    at, by = printable(header.taken_at.replace("+00:00", "Z")), printable(header.by)
    rollout, command = printable(snapshots.rollout), printable(header.command)
    yield f"back to before rollout {rollout}, {command} by {by}, {at}"
    if snapshots.without:
        names = listed_names([target.name for target in snapshots.without])
        yield f"not changed by it: {names}"


def _counts(counts: Mapping[str, int]) -> str:
    texts = {action: f"{counts.get(action)} {verb}" for action, verb in _ACTIONS.items()}
    return ", ".join(text for action, text in texts.items() if counts.get(action))


HISTORY: Shape[Sequence[Kept]] = Shape(
    "history", "address snapshots", snapshots=lambda snapshots: KEPT.each(snapshots)
)
HISTORY_ALL: Shape[Sequence[InstanceHistory]] = Shape(
    "history --all",
    "instances",
    instances=lambda histories: INSTANCE_HISTORY.each(histories),
)
INSTANCE_HISTORY: Shape[InstanceHistory] = Shape(
    "history of an instance",
    "name address snapshots",
    snapshots=lambda history: KEPT.each(history.snapshots),
)
KEPT: Shape[Kept] = Shape(
    "snapshot in the history",
    "number name path bytes problem taken_at version before sources by rollout changes",
    bytes=lambda kept: kept.size,
    problem=lambda kept: kept.problem or None,
    taken_at=lambda kept: kept.header and kept.header.taken_at,
    version=lambda kept: kept.header and kept.header.version,
    before=lambda kept: kept.header and kept.header.before,
    sources=lambda kept: kept.header.sources if kept.header else (),
    by=lambda kept: kept.header and kept.header.by,
    rollout=lambda kept: (kept.header and kept.header.rollout) or None,
    changes=lambda kept: COUNTS.each(kept.header.changes.items() if kept.header else ()),
)
COUNTS: Shape[tuple[str, Mapping[str, int]]] = Shape(
    "changed rows of an admin module",
    "module add change delete",
    module=lambda item: item[0],
    add=lambda item: item[1].get(ADD, 0),
    change=lambda item: item[1].get(CHANGE, 0),
    delete=lambda item: item[1].get(DELETE, 0),
)
TAKEN: Shape[Taken] = Shape("snapshot", "address path tables rows")


def snapshots_json(taken: Sequence[Taken], failed: Sequence[Failed]) -> str:
    """Return the snapshots of several instances, and the instances that could not be read."""
    return TAKEN_ALL.document((taken, failed))


TAKEN_ALL: Shape[tuple[Sequence[Taken], Sequence[Failed]]] = Shape(
    "snapshots of a fleet",
    "snapshots failed",
    snapshots=lambda pair: TAKEN.each(pair[0]),
    failed=lambda pair: FAILED.each(pair[1]),
)
