"""Renders the log of a watch: a line, or one JSON object, for each change of state."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

from proxyctl.plan.change import CHANGE, Change
from proxyctl.plan.plan import Plan
from proxyctl.render.encode import Shape, document_line
from proxyctl.render.plan import CHANGED
from proxyctl.render.rows import MARKS, field_text, headline, listed_fields, note
from proxyctl.render.style import named_address
from proxyctl.text import counted, printable
from proxyctl.watch.status import WatchEvent

MOST_LISTED = 10
"""The changed rows that a line of the log lists; further ones are counted."""

EVENT: Shape[WatchEvent] = Shape(
    "line of a watch",
    "time level event name address message details changes more_changes",
    level=lambda event: event.level.value,
    event=lambda event: str(event.event),
    name=lambda event: event.name or None,
    address=lambda event: event.address or None,
    details=lambda event: [*event.details],
    changes=lambda event: CHANGED.each(_changes(event)),
    more_changes=lambda event: _more(event.plan),
)


def event_json(event: WatchEvent, at: datetime) -> str:
    """Return a change of state as JSON, on one line."""
    return document_line(EVENT.encode(event, time=at))


def event_text(event: WatchEvent, at: datetime) -> str:
    """Return a change of state as a line, and below it indented lines with details."""
    subject = f"{named_address(event.name, event.address)}  " if event.name else ""
    head = f"{at:%Y-%m-%dT%H:%M:%SZ}  {event.level:<7}  {subject}{event.event}: {event.message}"
    lines = [head, *(f"  {line}" for line in (*event.details, *_change_lines(event)))]
    return "".join(f"{printable(line)}\n" for line in lines)


def _change_lines(event: WatchEvent) -> Iterator[str]:
    plan = event.plan
    if plan is None:
        return
    names = plan.hostgroup_names
    for change in _changes(event):
        parts = [f"{MARKS[change.action]} {headline(change, names)}"]
        if change.action == CHANGE:
            fields = listed_fields(change)
            parts += [f"{field.column} {field_text(change, field, names)}" for field in fields]
        layers = note(change, plan.source)
        yield "  ".join([*parts, *([layers] if layers else [])])
    if more := _more(plan):
        yield f"... and {counted(more, 'more change')}"


def _changes(event: WatchEvent) -> Iterator[Change]:
    modules = event.plan.modules if event.plan else ()
    return islice((change for module in modules for change in module.changes), MOST_LISTED)


def _more(plan: Plan | None) -> int:
    total = sum(len(module.changes) for module in plan.modules) if plan else 0
    return max(total - MOST_LISTED, 0)
