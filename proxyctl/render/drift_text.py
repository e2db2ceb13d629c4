"""Drift for people: what differs, in which layer, and who could have moved it."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.errors import counted
from proxyctl.plan import Change, Plan
from proxyctl.render.rows import MARKS, field_text, headline, listed_fields
from proxyctl.render.style import PLAIN, Style, printable
from proxyctl.state import Layer

_CAUSES = {
    frozenset({Layer.MEMORY}): "edited in MEMORY and not loaded",
    frozenset({Layer.RUNTIME}): "RUNTIME alone: loaded from rows that are no longer in MEMORY",
    frozenset({Layer.DISK}): "DISK alone: never saved, or saved from other rows",
    frozenset({Layer.MEMORY, Layer.RUNTIME}): "changed and loaded by hand, not saved:"
    " a restart takes it back",
    frozenset({Layer.MEMORY, Layer.DISK}): "saved and not loaded: a restart brings it",
    frozenset({Layer.RUNTIME, Layer.DISK}): "MEMORY already holds what the files say",
    frozenset(Layer): "changed, loaded and saved by hand, or the files are newer",
}


def cause(change: Change) -> str:
    """Return who or what could have moved the row, judged by the layers in which it differs."""
    return _CAUSES[frozenset(change.layers)]


def drift_text(plan: Plan, style: Style = PLAIN) -> str:
    """Return the drift of one instance; one line when there is none."""
    return "\n".join(_lines(plan, style)) + "\n"


def _lines(plan: Plan, style: Style) -> Iterator[str]:
    name = f"{printable(plan.name)} " if plan.name != plan.address else ""
    changes = [change for module in plan.modules for change in module.changes]
    if not changes:
        yield f"{name}{plan.address}: no drift"
        return
    verb_end = "s" if len(changes) == 1 else ""
    yield style("bold", f"{name}{plan.address}: {counted(len(changes), 'row')} differ{verb_end}")
    names = plan.hostgroup_names
    for module in plan.modules:
        if not module.changes:
            continue
        yield module.name
        for change in module.changes:
            text = f"{MARKS[change.action]} {headline(change, names)}"
            yield f"  {style(change.action, text)}"
            for field in listed_fields(change):
                yield f"        {field.column:<24}{field_text(change, field, names)}"
            yield f"        {style('dim', cause(change))}"
    for note in plan.left_alone:
        yield f"left alone   {printable(note)}"
