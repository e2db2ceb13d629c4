"""The plan for a terminal: dense, one line a row, the verdict last. And as JSON.

Of many instances each distinct plan stands once, with who has it; the count comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from proxyctl.errors import counted
from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change, FieldChange
from proxyctl.plan.notes import entering_servers, renumbered_rules, travelling
from proxyctl.plan.pending_edits import DISCARD
from proxyctl.plan.plan import Discarded, ModulePlan, Plan, Refusal, ShardMove
from proxyctl.render.encode import ABSENT, INSTANCE, Shape
from proxyctl.render.fleet import (
    FAILED,
    alike_text,
    cluster_lines,
    failures,
    in_sync_lines,
    summary,
)
from proxyctl.render.rows import (
    MARKS,
    field_text,
    headline,
    layers_only,
    listed_fields,
    note,
    remark,
    subject,
)
from proxyctl.render.style import PLAIN, Style, instance_text, listed_names
from proxyctl.state.row import Layer
from proxyctl.text import printable

if TYPE_CHECKING:
    from proxyctl.lint.run import Placed

MOST_ADDED = 200
"""New rows of one table that are listed; the rest is counted. Changes and deletions always are."""
WIDEST_SUBJECT = 40
"""Subjects of one table stand in a column of at most this many characters."""
_BELOW, _FURTHER = " " * 8, " " * 12
"""The indent of what stands below a row, and of a line that goes on."""
_PATTERNS = ("match_digest", "match_pattern", "replace_pattern")
"""Each of a new or deleted rule has lines of its own: a comma behind it reads as part of it."""
NOTES_FROM = 72
"""Characters of a row, without its indent, after which a note stands in a column."""


# -- Text.


def plans_text(
    fleet: Fleet, style: Style = PLAIN, *, is_all: bool, with_refusals: bool = True
) -> str:
    """Return all plans. `is_all`: of a fleet, with those without a plan, and the count.

    `with_refusals`: an error that follows says them otherwise.
    """
    if not is_all:
        return plan_text(fleet.only_plan(), style, with_refusals=with_refusals)
    plans = []
    for first, *others in fleet.alike:
        plan, heading = first.own_plan, None
        if others:
            plan = first.plan
            heading = alike_text([first.name, *(one.name for one in others)], plan.version)
        plans.append(plan_text(plan, style, heading=heading, with_refusals=with_refusals))
    last = (*in_sync_lines(fleet), summary(fleet), *cluster_lines(fleet))
    return "\n".join(
        [*plans, *failures(fleet.failed, style), "".join(f"{line}\n" for line in last)]
    )


def plan_text(
    plan: Plan,
    style: Style = PLAIN,
    *,
    is_done: bool = False,
    heading: str | None = None,
    with_refusals: bool = True,
) -> str:
    """Return the plan of one instance. `is_done`: it stands before an apply's own report.

    `heading`: what it says in place of the instance, where several have this plan.
    `with_refusals`: an error that follows says them otherwise.
    """
    lines = [style("bold", heading or instance_text(plan)), ""]
    for module in plan.modules:
        if module.changes or module.does_something:
            lines += [*_module_lines(plan, module, style), ""]
    remarks = [*_remarks(plan, style), *(_refusals(plan, style) if with_refusals else ())]
    if remarks:
        lines += [*remarks, ""]
    if plan.is_in_sync:
        lines += style.lines(no_changes(plan))
    else:
        is_open = not is_done and (with_refusals or not plan.refusals)
        lines += _verdict(plan, style, is_open=is_open)
    return "\n".join(lines) + "\n"


def no_changes(plan: Plan) -> str:
    """Return the verdict on a plan that changes nothing."""
    rest = ", except for what is left alone" if plan.out_of_service else ""
    return f"No changes: MEMORY, RUNTIME and DISK hold what {plan.source.says}{rest}."


def _verdict(plan: Plan, style: Style, *, is_open: bool) -> list[str]:
    """Return what would happen, and if it `is_open`, whether it may."""
    counts, rest = counts_text(plan), "Nothing has been changed yet."
    if plan.refusals:
        rest = f"apply would refuse: {counted(len(plan.refusals), 'reason')} above."
    bold = [style("bold", line) for line in style.lines(counts)]
    if not is_open:
        return bold
    if style.width is not None and len(f"{counts} {rest}") > style.width:
        return [*bold, rest]
    return [f"{bold[0]} {rest}"]


def counts_text(plan: Plan) -> str:
    """Return the one-line count of what would happen."""
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
    first, *more = style.lines(f"{module.name:<18}  {text}", then=" " * 20)
    yield from (f"{style('bold', first[:18])}{first[18:]}", *more)
    yield from _table_lines(plan, module, style)


def _table_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    for layout, group in groupby(with_remarks(plan, module), key=lambda one: one[0].layout):
        table = layout.name
        changes = _listed(list(group))
        longest = max(len(subject(change, plan.hostgroup_names)) for change, _ in changes)
        width = min(longest, WIDEST_SUBJECT)
        for change, aside in changes:
            yield from _change_lines(plan, change, style, width)
            if aside:
                yield from style.lines(aside, first=_BELOW, then=_BELOW)
        added = sum(n for key, n in module.tallies.items() if key[:2] == (table, ADD))
        if added > MOST_ADDED:
            more = counted(added - MOST_ADDED, "more new row")
            yield f"  + ... and {more} of {table} (--format json lists all)"


def _listed(changes: list[tuple[Change, str]]) -> list[tuple[Change, str]]:
    """Return the changes of one table without the new rows beyond MOST_ADDED."""
    listed, added = [], 0
    for one in changes:
        is_new = one[0].action == ADD
        added += is_new
        if added <= MOST_ADDED or not is_new:
            listed.append(one)
    return listed


def _module_summary(module: ModulePlan, *, saves: bool) -> str:
    counts = module.counts()
    words = [
        f"{counts[action]} to {verb}"
        for action, verb in ((ADD, "add"), (CHANGE, "change"), (DELETE, "delete"))
        if counts[action]
    ]
    if words:
        # RUNTIME lacks an inactive row, and nothing changes there in a row that was not loaded.
        elsewhere = [one for one in module.changes if Layer.RUNTIME not in one.layers]
        layers = [layer.name for layer in Layer if any(layer in one.layers for one in elsewhere)]
        rest = f"; {len(elsewhere)} more in {' and '.join(layers)} only" if elsewhere else ""
        return ", ".join(words) + rest
    if module.load:
        return "nothing changes; LOAD again, because the regular expression engine changes"
    does = ["writes MEMORY"] if module.stages else []
    if module.save:
        does.append("saves DISK" if saves else "DISK stays behind")
    return "; ".join(filter(None, ("RUNTIME stays", ", ".join(does))))


def _change_lines(plan: Plan, change: Change, style: Style, width: int) -> Iterator[str]:
    hostgroups = plan.hostgroup_names
    row = f"{MARKS[change.action]} {headline(change, hostgroups, width)}"
    yield from _with_note(row, note(change, plan.source), style, change.action)
    fields = listed_fields(change)
    if change.action == CHANGE:
        for field in fields:
            text = f"{field.column:<24}{_field_text(change, field, plan, style)}"
            yield from style.lines(text, first=_BELOW, then=_FURTHER)
        for other in change.further:
            for field in other.fields:
                text = f"      {field.column:<24}{_field_text(other, field, plan, style)}"
                yield from _with_note(text, layers_only(other), style)
    elif fields:
        # Several a line: such a row has many, and they differ from nothing.
        texts = {field.column: _field_text(change, field, plan, style) for field in fields}
        others = [f"{column} {text}" for column, text in texts.items() if column not in _PATTERNS]
        if others:
            yield from style.lines(", ".join(others), first=_BELOW, then=_BELOW)
        for column in (one for one in texts if one in _PATTERNS):
            yield from style.lines(texts[column], first=f"{_BELOW}{column} ", then=f"{_BELOW}  ")


def _field_text(change: Change, field: FieldChange, plan: Plan, style: Style) -> str:
    return field_text(change, field, plan.hostgroup_names, is_whole=style.is_verbose)


def _with_note(row: str, beside: str, style: Style, kind: str | None = None) -> Iterator[str]:
    """Yield a row with a note: right of it where there is room, else below."""
    lines = style.lines(row, first="  ", then=f"{_BELOW}  ")
    # Padded by the text alone: codes of colours take no room.
    gap = " " * max(NOTES_FROM - len(row), 2)
    is_below = style.width is not None and len(f"  {row}{gap}{beside}") > style.width
    lines = [f"  {style(kind, line[2:])}" if kind else line for line in lines]
    if not beside:
        yield from lines
    elif is_below or len(lines) > 1:
        notes = style.lines(beside, first=_BELOW, then=_BELOW)
        yield from (*lines, *(style("dim", line) for line in notes))
    else:
        yield f"{lines[0]}{gap}{style('dim', beside)}"


def _remarks(plan: Plan, style: Style) -> Iterator[str]:
    if plan.left_alone:
        yield from _remark(style, "left alone", "; ".join(map(printable, plan.left_alone)))
    if plan.members and not plan.is_in_sync:
        yield from _remark(style, "cluster", cluster_line(plan))
    for discarded in plan.discarded:
        yield from _remark(style, "discarded", discarded_text(discarded))
        yield from _details(discarded.edits, style)
    for warning in plan.warnings:
        yield from _remark(style, "warning", printable(warning))
    if plan.findings:
        from proxyctl.render.lint import finding_lines  # importing lint takes a while

        for finding in plan.findings:
            yield from finding_lines(finding, style, first=f"{'lint':<13}")
    for name in plan.restart_required:
        yield from _remark(style, "restart", f"{name} takes effect when ProxySQL is restarted")


def _refusals(plan: Plan, style: Style) -> Iterator[str]:
    for one in plan.refusals:
        lines = _remark(style, "refused", printable(one.message))
        yield from (style("refuse", line) for line in lines)
        yield from _details(one.below(), style)


_DETAIL = " " * 15


def _details(lines: Iterable[str], style: Style) -> Iterator[str]:
    for line in map(printable, lines):
        yield from style.line(f"{_DETAIL}{line}")


def discarded_text(discarded: Discarded) -> str:
    """Return how many pending edits of an admin module are overwritten."""
    return f"{discarded.module}: {counted(discarded.count, 'pending edit')} ({DISCARD})"


def _remark(style: Style, label: str, text: str) -> list[str]:
    return style.lines(text, first=f"{label:<13}", then=" " * 13)


def cluster_line(plan: Plan) -> str:
    """Return that an instance is in a ProxySQL Cluster, and what that means for a LOAD."""
    travel_text = "; what is loaded here spreads to the others" if travelling([plan]) else ""
    members = counted(len(plan.members), "member")
    return f"{members} of a ProxySQL Cluster: {listed_names(plan.members)}{travel_text}"


# -- JSON.


def plans_json(
    fleet: Fleet,
    *,
    is_all: bool,
    instance: Callable[[Plan], dict[str, object]] | None = None,
) -> str:
    """Return the plans. `is_all`: of a fleet. `instance` makes an object, by default of a plan."""
    made: dict[int, dict[str, object]] = {}
    instances = []
    for one in fleet.planned:
        # Instances that are alike share a plan, which names one of them: it is encoded once.
        if id(one.plan) not in made:
            made[id(one.plan)] = (instance or PLAN.encode)(one.plan)
        own: dict[str, object] = {}
        if (one.name, one.address) != (one.plan.name, one.plan.address):
            own = {"name": one.name, "address": one.address, "fingerprint": one.fingerprint}
        instances.append({**made[id(one.plan)], **own})
    failed = FAILED.each(fleet.failed) if is_all else ABSENT
    return PLANS.document(fleet, instances=instances, failed=failed)


def with_remarks(plan: Plan, module: ModulePlan) -> Iterator[tuple[Change, str]]:
    """Yield the changes of a module, each with the remark beside it, '' for none."""
    entering, moved = entering_servers(module, plan.families), renumbered_rules(module)
    for change in module.changes:
        aside = moved.get((change.table, change.key))
        yield change, aside or remark(change, entering, plan.hostgroup_names)


def changes_of(
    plan: Plan, module: ModulePlan, shape: Shape[Change] | None = None
) -> list[dict[str, object]]:
    """Return the changes of a module as plain data, in the shape of a plan or another one."""
    return [
        (shape or CHANGED).encode(change, remark=text or None)
        for change, text in with_remarks(plan, module)
    ]


def fields_of(change: Change) -> dict[str, dict[str, object]]:
    """Return what differs by column, also in layers that hold something else."""
    fields = {field.column: FIELD.encode(field) for field in change.fields}
    for other in change.further:
        for field in other.fields:
            fields.setdefault(field.column, FIELD.encode(field, layers=other.layers))
    return fields


def _finding(one: Placed) -> dict[str, object]:
    from proxyctl.render.lint import placed  # as above

    return placed(one)


PLANS: Shape[Fleet] = Shape("plan and drift", "instances failed")
PLAN: Shape[Plan] = Shape(
    "instance of a plan",
    f"{INSTANCE} in_sync modules refusals discarded shard_moves cluster_members left_alone warnings"
    " findings restart_required fingerprint replay",
    in_sync=lambda one: one.is_in_sync,
    modules=lambda one: MODULE.each((one, module) for module in one.modules),
    refusals=lambda one: REFUSAL.each(one.refusals),
    discarded=lambda one: DISCARDED.each(one.discarded),
    shard_moves=lambda one: SHARD_MOVE.each(one.shard_moves),
    cluster_members=lambda one: one.members,
    findings=lambda one: [*map(_finding, one.findings)],
    replay=lambda _: ABSENT,
)
MODULE: Shape[tuple[Plan, ModulePlan]] = Shape(
    "admin module of a plan",
    "module load save changes",
    module=lambda one: one[1].name,
    load=lambda one: one[1].load,
    save=lambda one: one[1].save,
    changes=lambda one: changes_of(*one),
)
CHANGED: Shape[Change] = Shape(
    "change",
    "table key action layers fields where origin remark",
    fields=fields_of,
    where=lambda one: one.where and str(one.where),
    origin=lambda one: (one.where and one.where.origin) or None,
)
FIELD: Shape[FieldChange] = Shape(
    "field of a change",
    "current desired sensitive layers",
    current=lambda one: None if one.is_secret else one.current,
    desired=lambda one: None if one.is_secret else one.desired,
    sensitive=lambda one: one.is_secret or ABSENT,
    layers=lambda _: ABSENT,
)
DISCARDED: Shape[Discarded] = Shape(
    "discarded pending edits of an admin module", "module count edits"
)
REFUSAL: Shape[Refusal] = Shape("refusal", "code message fix allow details")
SHARD_MOVE: Shape[ShardMove] = Shape("shard move", "sharding kind name current desired how")
