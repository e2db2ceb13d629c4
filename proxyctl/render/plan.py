"""Render a plan for a terminal: one line per row, the verdict last. And as JSON.

For a fleet, print each distinct plan once under the names of the instances that share it, then the
counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change, FieldChange
from proxyctl.plan.notes import synchronised_modules
from proxyctl.plan.pending_edits import DISCARD
from proxyctl.plan.plan import Discarded, ModulePlan, Plan, Refusal, ShardMove
from proxyctl.render.encode import ABSENT, INSTANCE, Shape
from proxyctl.render.fleet import FAILED, alike_text, failures
from proxyctl.render.plans_of_fleet import cluster_lines, in_sync_lines, summary
from proxyctl.render.rows import (
    MARKS,
    field_text,
    headline,
    layers_only,
    listed_fields,
    note,
    subject,
)
from proxyctl.render.skipped_checks import lint_counts
from proxyctl.render.style import PLAIN, Style, instance_text, listed_names
from proxyctl.rows.row import Layer
from proxyctl.text import counted, printable

if TYPE_CHECKING:
    from proxyctl.lint.run import LocatedFinding

MOST_ADDED = 200
"""New rows listed per table; further ones are counted. Changes and deletions are all listed."""
WIDEST_SUBJECT = 40
"""Characters of the column of subjects in one table, at most."""
_BELOW, _FURTHER = " " * 8, " " * 12
"""The indent of a line below a row, and of its continuation."""
_PATTERNS = ("match_digest", "match_pattern", "replace_pattern")
"""Columns of a rule that get lines of their own: a comma behind a pattern reads as part of it."""
NOTES_FROM = 72
"""The column of a row's note, counted without the indent. Units: characters."""


# -- Text.


def plans_text(
    fleet: Fleet, style: Style = PLAIN, *, is_all: bool, with_refusals: bool = True
) -> str:
    """Return the plans. `is_all`: render a fleet: also the failed instances, and the counts.

    `with_refusals`: False where the error that follows lists the refusals.
    """
    if not is_all:
        return plan_text(fleet.only(), style, with_refusals=with_refusals)
    plans = []
    for group in fleet.alike:
        names = [planned.name for planned in group]
        heading = alike_text(names, group[0].plan.version) if len(group) > 1 else None
        plans.append(plan_text(group[0], style, heading=heading, with_refusals=with_refusals))
    last = (*in_sync_lines(fleet), summary(fleet), *cluster_lines(fleet))
    return "\n".join([*plans, *failures(fleet.failed, style), style.text("\n".join(last))])


def plan_text(
    planned: Planned,
    style: Style = PLAIN,
    *,
    is_done: bool = False,
    heading: str | None = None,
    with_refusals: bool = True,
) -> str:
    """Return the plan of one instance. `is_done`: the report of its apply follows.

    `heading`: replaces the instance's name where several instances share the plan.
    `with_refusals`: False where the error that follows lists the refusals.
    """
    plan = planned.plan
    lines = [style("bold", heading or instance_text(planned.own_plan)), ""]
    for module in plan.modules:
        if module.changes or module.does_something:
            lines += [*_module_lines(plan, module, style), ""]
    remarks = [*_remarks(planned, style), *(_refusals(planned, style) if with_refusals else ())]
    if remarks:
        lines += [*remarks, ""]
    if plan.is_in_sync:
        lines += style.lines(no_changes(plan))
    else:
        is_open = not is_done and (with_refusals or not planned.refusals)
        lines += _verdict(planned, style, is_open=is_open)
    return "\n".join(lines) + "\n"


def no_changes(plan: Plan) -> str:
    """Return the verdict on a plan that changes nothing."""
    exception = ", except for what is left alone" if plan.out_of_service else ""
    return f"No changes: MEMORY, RUNTIME and DISK hold what {plan.source.says}{exception}."


def _verdict(planned: Planned, style: Style, *, is_open: bool) -> list[str]:
    """Return the counts, and if the apply `is_open`, whether it would be refused."""
    counts, outlook = counts_text(planned.plan), "Nothing has been changed yet."
    if planned.refusals:
        outlook = f"apply would refuse: {counted(len(planned.refusals), 'reason')} above."
    bold = [style("bold", line) for line in style.lines(counts)]
    if not is_open:
        return bold
    if style.width is not None and len(f"{counts} {outlook}") > style.width:
        return [*bold, outlook]
    return [f"{bold[0]} {outlook}"]


def counts_text(plan: Plan) -> str:
    """Return the counts of changes and commands on one line."""
    counts = plan.counts()
    loads = sum(len(module.images) for module in plan.modules)
    saves = sum(1 for module in plan.modules if module.save and plan.saves)
    changed = (
        f"{counts[ADD]} to add, {counts[CHANGE]} to change, {counts[DELETE]} to delete"
        if any(counts.values())
        else "nothing changes"
    )
    return f"Plan: {changed} at RUNTIME. {loads} LOAD, {saves} SAVE."


def _module_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    text = _module_summary(module, saves=plan.saves)
    first, *further = style.lines(f"{module.name:<18}  {text}", then=" " * 20)
    yield from (f"{style('bold', first[:18])}{first[18:]}", *further)
    yield from _table_lines(plan, module, style)


def _table_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    for layout, group in groupby(module.changes, key=attrgetter("layout")):
        changes = _listed(group)
        longest = max(len(subject(change, plan.hostgroup_names)) for change in changes)
        width = min(longest, WIDEST_SUBJECT)
        for change in changes:
            yield from _change_lines(plan, change, style, width)
            if change.remark:
                yield from style.lines(change.remark, first=_BELOW, then=_BELOW)
        added = sum(n for key, n in module.tallies.items() if key[:2] == (layout.name, ADD))
        if added > MOST_ADDED:
            hidden = counted(added - MOST_ADDED, "more new row")
            yield f"  + ... and {hidden} of {layout.name} (--format json lists all)"


def _listed(changes: Iterable[Change]) -> list[Change]:
    """Return the changes of one table without the new rows beyond MOST_ADDED."""
    listed, added = [], 0
    for change in changes:
        is_new = change.action == ADD
        added += is_new
        if added <= MOST_ADDED or not is_new:
            listed.append(change)
    return listed


def _module_summary(module: ModulePlan, *, saves: bool) -> str:
    counts = module.counts()
    words = [
        f"{counts[action]} to {verb}"
        for action, verb in ((ADD, "add"), (CHANGE, "change"), (DELETE, "delete"))
        if counts[action]
    ]
    if words:
        # The counts are of RUNTIME, which lacks inactive rows and rows that were never loaded.
        elsewhere = [change for change in module.changes if Layer.RUNTIME not in change.layers]
        changed = {layer for change in elsewhere for layer in change.layers}
        layers = " and ".join(layer.name for layer in Layer if layer in changed)
        return ", ".join(words) + (f"; {len(elsewhere)} more in {layers} only" if elsewhere else "")
    if module.load:
        return "no row changes; LOAD again, because the regular expression engine changes"
    effects = ["writes MEMORY"] if module.stages else []
    if module.save:
        effects.append("saves DISK" if saves else "DISK is not updated")
    return "; ".join(filter(None, ("RUNTIME is unchanged", ", ".join(effects))))


def _change_lines(plan: Plan, change: Change, style: Style, width: int) -> Iterator[str]:
    hostgroups = plan.hostgroup_names
    row = f"{MARKS[change.action]} {headline(change, hostgroups, width)}"
    yield from _with_note(row, note(change, plan.source), style, change.action)
    fields = listed_fields(change)
    if change.action == CHANGE:
        for field in fields:
            text = f"{field.column:<24}{_field_text(change, field, plan, style)}"
            if field.layers:
                yield from _with_note(f"      {text}", layers_only(field.layers), style)
            else:
                yield from style.lines(text, first=_BELOW, then=_FURTHER)
    elif fields:
        # Several fields per line: a new or deleted row has many, each with one value.
        texts = {field.column: _field_text(change, field, plan, style) for field in fields}
        short = [f"{column} {text}" for column, text in texts.items() if column not in _PATTERNS]
        if short:
            yield from style.lines(", ".join(short), first=_BELOW, then=_BELOW)
        for column, text in texts.items():
            if column in _PATTERNS:
                yield from style.lines(text, first=f"{_BELOW}{column} ", then=f"{_BELOW}  ")


def _field_text(change: Change, field: FieldChange, plan: Plan, style: Style) -> str:
    return field_text(change, field, plan.hostgroup_names, is_whole=style.is_verbose)


def _with_note(row: str, note_text: str, style: Style, kind: str | None = None) -> Iterator[str]:
    """Yield a row with its note: to the right if there is room, else below."""
    lines = style.lines(row, first="  ", then=f"{_BELOW}  ")
    # The gap depends on the text alone: colour codes take no room on the screen.
    gap = " " * max(NOTES_FROM - len(row), 2)
    is_below = style.width is not None and len(f"  {row}{gap}{note_text}") > style.width
    lines = [f"  {style(kind, line[2:])}" if kind else line for line in lines]
    if not note_text:
        yield from lines
    elif is_below or len(lines) > 1:
        notes = style.lines(note_text, first=_BELOW, then=_BELOW)
        yield from (*lines, *(style("dim", line) for line in notes))
    else:
        yield f"{lines[0]}{gap}{style('dim', note_text)}"


def _remarks(planned: Planned, style: Style) -> Iterator[str]:
    plan = planned.plan
    if plan.left_alone:
        yield from _remark(style, "left alone", "; ".join(map(printable, plan.left_alone)))
    if plan.members and not plan.is_in_sync:
        yield from _remark(style, "cluster", cluster_line(plan))
    for discarded in plan.discarded:
        yield from _remark(style, "discarded", discarded_text(discarded))
        yield from _details(discarded.edits, style)
    for warning in planned.warnings:
        yield from _remark(style, "warning", printable(warning))
    yield from finding_remarks(planned.own_plan, style)
    for name in plan.restart_required:
        yield from _remark(style, "restart", f"{name} takes effect when ProxySQL is restarted")


def finding_remarks(plan: Plan, style: Style) -> Iterator[str]:
    """Yield the findings of lint, each with its fix, and what is only counted."""
    if plan.findings:
        from proxyctl.render.lint import finding_lines  # importing lint takes a while

        for finding in plan.findings:
            yield from finding_lines(finding, style, first=f"{'lint':<13}")
    for text in lint_counts(plan):
        yield from _remark(style, "lint", text)


def _refusals(planned: Planned, style: Style) -> Iterator[str]:
    for refusal in planned.refusals:
        lines = _remark(style, "refused", printable(refusal.message))
        yield from (style("refuse", line) for line in lines)
        yield from _details(refusal.below(), style)


_DETAIL = " " * 15


def _details(lines: Iterable[str], style: Style) -> Iterator[str]:
    for line in map(printable, lines):
        yield from style.line(f"{_DETAIL}{line}")


def discarded_text(discarded: Discarded) -> str:
    """Return the count of an admin module's pending edits that the apply overwrites."""
    return f"{discarded.module}: {counted(discarded.count, 'pending edit')} ({DISCARD})"


def _remark(style: Style, label: str, text: str) -> list[str]:
    return style.lines(text, first=f"{label:<13}", then=" " * 13)


def cluster_line(plan: Plan) -> str:
    """Return the members of the instance's ProxySQL Cluster, and whether a LOAD spreads to them."""
    spread_text = (
        "; what is loaded here spreads to the others" if synchronised_modules([plan]) else ""
    )
    members = counted(len(plan.members), "member")
    return f"{members} of a ProxySQL Cluster: {listed_names(plan.members)}{spread_text}"


# -- JSON.


def plans_json(
    fleet: Fleet,
    *,
    is_all: bool,
    instance: Callable[[Plan], dict[str, object]] | None = None,
) -> str:
    """Return the plans. `is_all`: render a fleet: also the instances that could not be read.

    `instance`: encodes a plan; None: `PLAN.encode`.
    """
    encoded: dict[int, dict[str, object]] = {}
    instances = []
    for planned in fleet.planned:
        # Instances that are alike share one plan object with the name of the first.
        plan = planned.plan
        if id(plan) not in encoded:
            encoded[id(plan)] = (instance or PLAN.encode)(plan)
        own: dict[str, object] = {
            "refusals": REFUSAL.each(planned.refusals),
            "warnings": planned.warnings,
        }
        if (planned.name, planned.address) != (plan.name, plan.address):
            own |= {
                "name": planned.name,
                "address": planned.address,
                "fingerprint": planned.own_plan.fingerprint,
            }
        instances.append({**encoded[id(plan)], **own})
    failed = FAILED.each(fleet.failed) if is_all else ABSENT
    return PLANS.document(fleet, instances=instances, failed=failed)


def fields_of(change: Change) -> dict[str, dict[str, object]]:
    """Return the differing fields by column."""
    fields: dict[str, dict[str, object]] = {}
    for field in change.fields:
        fields.setdefault(field.column, FIELD.encode(field))
    return fields


def _finding(located: LocatedFinding) -> dict[str, object]:
    from proxyctl.render.lint import finding_data  # as above

    return finding_data(located)


PLANS: Shape[Fleet] = Shape("plan and drift", "instances failed")
PLAN: Shape[Plan] = Shape(
    "instance of a plan",
    f"{INSTANCE} in_sync modules refusals discarded shard_moves cluster_members left_alone warnings"
    " findings known_findings skipped_checks restart_required fingerprint replay",
    in_sync=lambda plan: plan.is_in_sync,
    modules=lambda plan: MODULE.each(plan.modules),
    refusals=lambda plan: REFUSAL.each(plan.refusals),
    discarded=lambda plan: DISCARDED.each(plan.discarded),
    shard_moves=lambda plan: SHARD_MOVE.each(plan.shard_moves),
    cluster_members=lambda plan: plan.members,
    findings=lambda plan: [*map(_finding, plan.findings)],
    skipped_checks=lambda plan: [*plan.skipped_checks] or ABSENT,
    replay=lambda _: ABSENT,
)
MODULE: Shape[ModulePlan] = Shape(
    "admin module of a plan",
    "module load save changes",
    module=lambda module: module.name,
    changes=lambda module: CHANGED.each(module.changes),
)
CHANGED: Shape[Change] = Shape(
    "change",
    "table key action layers fields where origin remark",
    fields=fields_of,
    remark=lambda change: change.remark or None,
    where=lambda change: change.where and str(change.where),
    origin=lambda change: (change.where and change.where.origin) or None,
)
FIELD: Shape[FieldChange] = Shape(
    "field of a change",
    "current desired sensitive layers",
    current=lambda field: None if field.is_secret else field.current,
    desired=lambda field: None if field.is_secret else field.desired,
    sensitive=lambda field: field.is_secret or ABSENT,
    layers=lambda field: field.layers or ABSENT,
)
DISCARDED: Shape[Discarded] = Shape(
    "discarded pending edits of an admin module", "module count edits"
)
REFUSAL: Shape[Refusal] = Shape("refusal", "code message fix allow details")
SHARD_MOVE: Shape[ShardMove] = Shape("shard move", "sharding kind name current desired how")
