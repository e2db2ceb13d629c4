"""Drift for people: what is there, what the files say, in which layer, and who could have moved it.

An arrow would read as a change that somebody made, while an apply goes the other way: so this
report has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxyctl.catalog import TABLES, Role
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.errors import counted
from proxyctl.plan import ADD, CHANGE, DELETE, Change, FieldChange, Plan
from proxyctl.render.rows import (
    detail,
    field_text,
    is_variable,
    listed_fields,
    not_wanted,
    subject,
    value_text,
)
from proxyctl.render.style import PLAIN, Style, printable
from proxyctl.state import Layer

_WORDS = {DELETE: "extra", ADD: "missing", CHANGE: "differs"}

_CAUSES = {
    frozenset({Layer.MEMORY}): "MEMORY only: edited there, not loaded",
    frozenset({Layer.RUNTIME}): "RUNTIME only: loaded by {who}; or MEMORY was written and not"
    " loaded",
    frozenset({Layer.DISK}): "DISK only: not saved since; a restart makes RUNTIME like it",
    frozenset({Layer.MEMORY, Layer.RUNTIME}): "MEMORY and RUNTIME: loaded by {who}, not saved;"
    " a restart takes it back",
    frozenset({Layer.MEMORY, Layer.DISK}): "MEMORY and DISK: saved, not loaded;"
    " a restart makes RUNTIME like them",
    frozenset({Layer.RUNTIME, Layer.DISK}): "RUNTIME and DISK: MEMORY holds what the files say,"
    " neither loaded nor saved",
    frozenset(Layer): "all layers: the files are newer, or this was loaded and saved since",
}


def cause(change: Change) -> str:
    """Return in which layers the row differs, and who could have done it.

    Nobody is blamed: a native cluster moves rows as an administrator does, and the monitor moves
    servers.
    """
    if change.key[0] in RESTART_ONLY and is_variable(change):
        return "DISK, the only layer that counts for it: it is read there at a restart"
    is_moved = TABLES[change.table].role is Role.SERVERS
    who = "an administrator, a peer or the monitor" if is_moved else "an administrator or a peer"
    return _CAUSES[frozenset(change.layers)].format(who=who)


def drift_text(plan: Plan, style: Style = PLAIN) -> str:
    """Return the drift of one instance; one line when there is none."""
    return "\n".join(_lines(plan, style)) + "\n"


def _lines(plan: Plan, style: Style) -> Iterator[str]:
    name = f"{printable(plan.name)} " if plan.name != plan.address else ""
    changes = [change for module in plan.modules for change in module.changes]
    if not changes:
        yield f"{name}{plan.address}: no drift"
        return
    count = counted(len(changes), "row")
    verb_end = "s" if len(changes) == 1 else ""
    yield style("bold", f"{name}{plan.address}: {count} differ{verb_end} from the files")
    names = plan.hostgroup_names
    for module in plan.modules:
        if not module.changes:
            continue
        yield module.name
        for change in module.changes:
            word = style(change.action, f"{_WORDS[change.action]:<8}")
            beside = "" if is_variable(change) else detail(change, names)
            yield f"  {word} {subject(change, names)}{f'  {beside}' if beside else ''}"
            yield from (f"           {text}" for text in _particulars(change, names))
            yield f"           {style('dim', cause(change))}"
    for note in plan.left_alone:
        yield f"left alone   {printable(note)}"


def _particulars(change: Change, names: Mapping[int, str]) -> Iterator[str]:
    """Yield what is there and what the files say."""
    if change.action == DELETE:
        yield not_wanted(change)
        return
    fields = change.fields if is_variable(change) else listed_fields(change)
    if change.action == ADD:
        listed = [_wanted(change, field, names) for field in fields]
        if listed:
            yield f"the files say {', '.join(listed)}"
        return
    for field in fields:
        column = "" if is_variable(change) else f"{field.column} "
        if field.is_secret:
            yield f"{column}is not what the files say (sensitive)"
        else:
            current = value_text(change, field, field.current, names)
            wanted = value_text(change, field, field.desired, names)
            yield f"{column}is {current}, the files say {wanted}"


def _wanted(change: Change, field: FieldChange, names: Mapping[int, str]) -> str:
    text = field_text(change, field, names)
    return text if is_variable(change) else f"{field.column} {text}"
