"""Drift: which layers differ, what is there, and what the files say.

An arrow would read as a change that somebody made, while an apply goes the other way: so this
report has none. As JSON it is the plan that would end it, with the pattern of each difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxyctl.errors import counted
from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change, FieldChange
from proxyctl.plan.drift import Pattern, pattern_of
from proxyctl.plan.notes import saved_placement
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.encode import Shape
from proxyctl.render.fleet import failures, fleet_of, names
from proxyctl.render.plan import CHANGED, FIELD, MODULE, PLAN, changes_of, plans_json
from proxyctl.render.rows import (
    detail,
    field_text,
    is_variable,
    listed_fields,
    not_wanted,
    subject,
    value_text,
)
from proxyctl.render.style import PLAIN, Style
from proxyctl.state.row import Layer
from proxyctl.text import printable

MOST_LISTED = 50
"""Rows of one pattern that are listed; the rest is counted."""

_INDENT = " " * 13
_WORDS = {DELETE: "extra", ADD: "missing", CHANGE: "differs"}


def drifts_text(fleet: Fleet, style: Style = PLAIN, *, is_all: bool) -> str:
    """Return the drift. `is_all`: of a fleet, with those that could not be read, and the count.

    Of instances without drift a fleet names those with servers that an operator took out, and
    those of which the files manage nothing.
    """
    if not is_all:
        return drift_text(fleet.only_plan(), style)
    parts = [drift_text(one.own_plan, style) for one in fleet.differing]
    listed = [one for one in fleet.in_sync if one.plan.out_of_service or not one.plan.modules]
    quiet = [drift_text(one.own_plan, style) for one in listed]
    last = "".join([*quiet, _summary(fleet) + "\n"])
    return "\n".join([*parts, *failures(fleet.failed, style), last])


def _summary(fleet: Fleet) -> str:
    managed = sum(bool(one.plan.modules) for one in fleet.in_sync)
    parts = [f"{managed} without drift"] if managed else []
    if managed < len(fleet.in_sync):
        parts.append(f"{len(fleet.in_sync) - managed} not managed")
    if fleet.differing:
        parts.append(f"{len(fleet.differing)} drifted: {names(fleet.differing)}")
    return fleet_of(len(fleet.planned), parts, fleet.failed)


def drift_text(plan: Plan, style: Style = PLAIN) -> str:
    """Return the drift of one instance; one line when there is none."""
    return "\n".join(_lines(plan, style)) + "\n"


def _lines(plan: Plan, style: Style) -> Iterator[str]:
    name = f"{printable(plan.name)} " if plan.name != plan.address else ""
    changes = sum(len(module.changes) for module in plan.modules)
    if not plan.modules:
        yield f"{name}{plan.address}: the files manage nothing, so nothing was compared"
        return
    if not changes:
        out = printable("; ".join(plan.out_of_service))
        yield from style.lines(f"{name}{plan.address}: no drift{f' ({out})' if out else ''}")
        return
    verb_end = "s" if changes == 1 else ""
    rows = counted(changes, "row")
    yield style("bold", f"{name}{plan.address}: {rows} differ{verb_end} from the files")
    for module in plan.modules:
        if module.changes:
            yield from _module_lines(plan, module, style)
    for note in plan.left_alone:
        yield from style.lines(printable(note), first="left alone   ", then=_INDENT)
    if plan.refusals:
        reasons = counted(len(plan.refusals), "reason")
        yield f"an apply would be refused for {reasons}: see proxyctl plan"


def _module_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    yield module.name
    for text in saved_placement(module):
        yield from style.lines(printable(text), first="  ", then="  ")
    by_pattern: dict[Pattern, list[Change]] = {}
    for change in module.changes:
        by_pattern.setdefault(pattern_of(change), []).append(change)
    names = plan.hostgroup_names
    for pattern, changes in by_pattern.items():
        yield f"  {style('dim', pattern.text)}"
        for change in changes[:MOST_LISTED]:
            word = style(change.action, f"{_WORDS[change.action]:<8}")
            beside = "" if is_variable(change) else detail(change, names)
            head = f"{subject(change, names)}{f'  {beside}' if beside else ''}"
            first, *rest = style.lines(head, first=_INDENT, then=f"{_INDENT}  ")
            yield from (f"    {word} {first[len(_INDENT) :]}", *rest)
            for text in _layer_lines(change, names):
                yield from style.lines(text, first=_INDENT, then=f"{_INDENT}  ")
        if len(changes) > MOST_LISTED:
            more = counted(len(changes) - MOST_LISTED, "more row")
            yield f"    ... and {more} (--format json lists all)"


def _layer_lines(change: Change, names: Mapping[int, str]) -> Iterator[str]:
    """Yield what is there and what the files say, by layer where layers do not hold the same."""
    elsewhere = change.elsewhere
    if not elsewhere:
        yield from _particulars(change, names)
        return
    others = {layer for other in elsewhere for layer in other.layers}
    for one in (change, *elsewhere):
        layers = set(one.layers) - (others if one is change else set())
        where = " and ".join(layer.name for layer in Layer if layer in layers)
        texts = ["missing"] if one.action == ADD else _particulars(one, names)
        yield from (f"{where}: {text}" for text in texts)


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
            yield f"{column}differs from the files (sensitive)"
        else:
            current = value_text(change, field, field.current, names)
            wanted = value_text(change, field, field.desired, names)
            yield f"{column}is {current}, the files say {wanted}"


def _wanted(change: Change, field: FieldChange, names: Mapping[int, str]) -> str:
    text = field_text(change, field, names)
    return text if is_variable(change) else f"{field.column} {text}"


def drifts_json(fleet: Fleet, *, is_all: bool) -> str:
    """Return the drift. `is_all`: of a fleet, with those that could not be read."""
    return plans_json(fleet, is_all=is_all, instance=_instance)


def _instance(plan: Plan) -> dict[str, object]:
    modules = [
        MODULE.encode((plan, module), changes=changes_of(plan, module, DRIFTED))
        for module in plan.modules
    ]
    return PLAN.encode(plan, modules=modules)


DRIFTED = CHANGED.extended(
    "change in drift",
    "elsewhere pattern",
    elsewhere=lambda one: ELSEWHERE.each(one.elsewhere),
    pattern=lambda one: pattern_of(one).name,
)
ELSEWHERE: Shape[Change] = Shape(
    "difference in other layers",
    "layers action fields",
    fields=lambda one: {field.column: FIELD.encode(field) for field in one.fields},
)
