"""Drift as text and JSON: which layers differ, and both values.

The text has no arrows: one would read as a change that somebody made, while an apply changes the
row in the other direction. The JSON is the plan that ends the drift, with the pattern of each
difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change, FieldChange
from proxyctl.plan.drift import Pattern, elsewhere, pattern_of
from proxyctl.plan.notes import monitor_placement
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.encode import Shape
from proxyctl.render.fleet import counts_line, failures
from proxyctl.render.plan import (
    CHANGED,
    FIELD,
    MODULE,
    PLAN,
    finding_remarks,
    plans_json,
)
from proxyctl.render.plans_of_fleet import instance_names
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
from proxyctl.rows.row import Layer
from proxyctl.text import counted, printable

MOST_LISTED = 50
"""Rows listed per pattern; further rows are counted."""

_INDENT = " " * 13
_WORDS = {DELETE: "extra", ADD: "missing", CHANGE: "differs"}


def drifts_text(fleet: Fleet, style: Style = PLAIN, *, is_all: bool) -> str:
    """Return the drift.

    `is_all`: render a fleet: also the instances that could not be read, and the counts. It lists
    an instance without drift only if an operator removed servers from service, if lint finds errors
    or did not run in full, or if the files manage nothing there.
    """
    if not is_all:
        return drift_text(fleet.only().plan, style)
    drifted = [drift_text(planned.own_plan, style) for planned in fleet.differing]
    in_sync = [
        drift_text(planned.own_plan, style)
        for planned in fleet.in_sync
        if planned.plan.out_of_service
        or planned.plan.findings
        or planned.plan.skipped_checks
        or not planned.plan.modules
    ]
    last = "".join([*in_sync, _summary(fleet) + "\n"])
    return "\n".join([*drifted, *failures(fleet.failed, style), last])


def _summary(fleet: Fleet) -> str:
    managed = sum(bool(planned.plan.modules) for planned in fleet.in_sync)
    parts = [f"{managed} without drift"] if managed else []
    if managed < len(fleet.in_sync):
        parts.append(f"{len(fleet.in_sync) - managed} not managed")
    if fleet.differing:
        parts.append(f"{len(fleet.differing)} drifted: {instance_names(fleet.differing)}")
    return counts_line(len(fleet.planned), parts, fleet.failed)


def drift_text(plan: Plan, style: Style = PLAIN) -> str:
    """Return the drift of one instance; one line if there is none."""
    return "\n".join(_lines(plan, style)) + "\n"


def _lines(plan: Plan, style: Style) -> Iterator[str]:
    name = f"{printable(plan.name)} " if plan.name != plan.address else ""
    changes = sum(len(module.changes) for module in plan.modules)
    if not plan.modules:
        yield f"{name}{plan.address}: the files manage nothing, so nothing was compared"
        return
    if not changes:
        remark = printable("; ".join(plan.out_of_service))
        remark = f" ({remark})" if remark else ""
        yield from style.lines(f"{name}{plan.address}: no drift{remark}")
        yield from finding_remarks(plan, style)
        return
    verb = "differs" if changes == 1 else "differ"
    rows = counted(changes, "row")
    yield style("bold", f"{name}{plan.address}: {rows} {verb} from the files")
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
    for text in monitor_placement(module):
        yield from style.lines(printable(text), first="  ", then="  ")
    by_pattern: dict[Pattern, list[Change]] = {}
    for change in module.changes:
        by_pattern.setdefault(pattern_of(change), []).append(change)
    names = plan.hostgroup_names
    for pattern, changes in by_pattern.items():
        yield f"  {style('dim', pattern.text)}"
        for change in changes[:MOST_LISTED]:
            word = style(change.action, f"{_WORDS[change.action]:<8}")
            row = subject(change, names)
            if not is_variable(change) and (detail_text := detail(change, names)):
                row += f"  {detail_text}"
            first, *further = style.lines(row, first=_INDENT, then=f"{_INDENT}  ")
            yield from (f"    {word} {first[len(_INDENT) :]}", *further)
            for text in _layer_lines(change, names):
                yield from style.lines(text, first=_INDENT, then=f"{_INDENT}  ")
        if len(changes) > MOST_LISTED:
            hidden = counted(len(changes) - MOST_LISTED, "more row")
            yield f"    ... and {hidden} (--format json lists all)"


def _layer_lines(change: Change, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the current values and those of the files, by layer if the layers differ."""
    others = elsewhere(change)
    if not others:
        yield from _value_lines(change, names)
        return
    other_layers = {layer for other in others for layer in other.layers}
    for difference in (change, *others):
        layers = set(difference.layers) - (other_layers if difference is change else set())
        where = " and ".join(layer.name for layer in Layer if layer in layers)
        is_missing = difference.action == ADD
        texts = ["missing"] if is_missing else _value_lines(difference, names)
        yield from (f"{where}: {text}" for text in texts)


def _value_lines(change: Change, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the current values and those of the files."""
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
        if field.layers:
            continue
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
    """Return the drift. `is_all`: render a fleet: also the instances that could not be read."""
    return plans_json(fleet, is_all=is_all, instance=_instance)


def _instance(plan: Plan) -> dict[str, object]:
    modules = [
        MODULE.encode(module, changes=DRIFTED.each(module.changes)) for module in plan.modules
    ]
    return PLAN.encode(plan, modules=modules)


DRIFTED = CHANGED.extended(
    "change in drift",
    "elsewhere pattern",
    elsewhere=lambda change: ELSEWHERE.each(elsewhere(change)),
    pattern=lambda change: pattern_of(change).name,
)
ELSEWHERE: Shape[Change] = Shape(
    "difference in other layers",
    "layers action fields",
    fields=lambda change: {field.column: FIELD.encode(field) for field in change.fields},
)
