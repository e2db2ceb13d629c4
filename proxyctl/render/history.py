"""The snapshots of an instance. No cell of them is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.render.encode import Shape
from proxyctl.render.style import PLAIN, Style
from proxyctl.snapshots.folder import Taken
from proxyctl.snapshots.snapshot import BY_HAND, Header, Kept
from proxyctl.stats.units import size_text
from proxyctl.text import printable

_ACTIONS = {ADD: "added", CHANGE: "changed", DELETE: "deleted"}


def history_text(found: Sequence[Kept], style: Style = PLAIN) -> str:
    """Return two lines a snapshot, the newest first."""
    width = len(str(len(found)))
    return "\n".join(line for kept in found for line in _lines(kept, style, width)) + "\n"


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
    """Return when it was taken, by whom and before what."""
    at, by = printable(header.taken_at.replace("+00:00", "Z")), printable(header.by)
    if header.before == BY_HAND:
        return f"taken {at} by {by}"
    verb = {"apply": "apply of", "rollback": "rollback to"}.get(header.before, header.before)
    sources = printable(", ".join(header.sources))
    return f"taken {at}, before {printable(verb)} {sources} by {by}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[one]} {word}" for one, word in _ACTIONS.items() if counts.get(one))


HISTORY: Shape[Sequence[Kept]] = Shape(
    "history", "address snapshots", snapshots=lambda found: KEPT.each(found)
)
KEPT: Shape[Kept] = Shape(
    "snapshot in the history",
    "number name path bytes problem taken_at version before sources by changes",
    bytes=lambda one: one.size,
    problem=lambda one: one.problem or None,
    taken_at=lambda one: one.header and one.header.taken_at,
    version=lambda one: one.header and one.header.version,
    before=lambda one: one.header and one.header.before,
    sources=lambda one: one.header.sources if one.header else (),
    by=lambda one: one.header and one.header.by,
    changes=lambda one: COUNTS.each(one.header.changes.items() if one.header else ()),
)
COUNTS: Shape[tuple[str, Mapping[str, int]]] = Shape(
    "changed rows of an admin module",
    "module add change delete",
    module=lambda one: one[0],
    add=lambda one: one[1].get(ADD, 0),
    change=lambda one: one[1].get(CHANGE, 0),
    delete=lambda one: one[1].get(DELETE, 0),
)
TAKEN: Shape[Taken] = Shape("snapshot", "address path tables rows")
