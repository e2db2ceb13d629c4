"""The plan for a terminal: dense, one line a row, the verdict last."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from proxyctl.errors import counted
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change
from proxyctl.plan.notes import entering_servers, travelling
from proxyctl.plan.plan import ModulePlan, Plan
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
from proxyctl.render.style import PLAIN, Style
from proxyctl.text import printable

MOST_ADDED = 200
"""New rows of one table that are listed; the rest is counted. Changes and deletions always are."""
WIDEST_SUBJECT = 40
"""Subjects of one table stand in a column of at most this many characters."""
MOST_MEMBERS = 8
"""Members of a cluster that are named."""
NOTES_FROM = 72
"""Characters of a row, without its indent, after which a note stands in a column."""


def plan_text(
    plan: Plan, style: Style = PLAIN, *, is_done: bool = False, headline: str | None = None
) -> str:
    """Return the plan of one instance. `is_done`: it stands before an apply's own report.

    `headline`: what it says in place of the instance, where several have this plan.
    """
    lines = [style("bold", headline) if headline else _headline(plan, style), ""]
    for module in plan.modules:
        if module.changes or module.does_something:
            lines += [*_module_lines(plan, module, style), ""]
    lines += _remarks(plan, style)
    if plan.is_in_sync:
        lines.append(no_changes(plan))
    else:
        lines.append(style("bold", summary(plan)) + ("" if is_done else _nothing_yet(plan)))
    return "\n".join(lines) + "\n"


def no_changes(plan: Plan) -> str:
    """Return the verdict on a plan that changes nothing."""
    rest = ", but for what is left alone" if plan.taken_out else ""
    return f"No changes: MEMORY, RUNTIME and DISK hold what {plan.source.says}{rest}."


def _headline(plan: Plan, style: Style) -> str:
    name = f"{plan.name}  " if plan.name != plan.address else ""
    return style("bold", f"{printable(name)}{plan.address}  ProxySQL {printable(plan.version)}")


def _nothing_yet(plan: Plan) -> str:
    if plan.refusals:
        return f" apply would refuse: {counted(len(plan.refusals), 'reason')} above."
    return " Nothing has been changed yet."


def summary(plan: Plan) -> str:
    """Return the one-line count of what would happen."""
    counts = plan.counts()
    loads = sum(module.loads for module in plan.modules)
    saves = sum(1 for module in plan.modules if module.save and plan.saves)
    changed = (
        f"{counts[ADD]} to add, {counts[CHANGE]} to change, {counts[DELETE]} to delete"
        if any(counts.values())
        else "nothing changes"
    )
    return f"Plan: {changed} at RUNTIME. {loads} LOAD, {saves} SAVE."


def _module_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    summary = _module_summary(module, saves=plan.saves)
    yield f"{style('bold', f'{module.name:<18}')}  {summary}"
    yield from _table_lines(plan, module, style)


def _table_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    entering = entering_servers(module, plan.families)
    for table, group in groupby(module.changes, key=attrgetter("table")):
        changes = _listed(list(group))
        longest = max(len(subject(change, plan.hostgroup_names)) for change in changes)
        width = min(longest, WIDEST_SUBJECT)
        for change in changes:
            yield from _change_lines(plan, change, style, width)
            aside = remark(change, entering, plan.hostgroup_names)
            if aside:
                yield f"        {aside}"
        added = sum(n for key, n in module.tallies.items() if key[:2] == (table, ADD))
        if added > MOST_ADDED:
            more = counted(added - MOST_ADDED, "more new row")
            yield f"  + ... and {more} of {table} (--format json lists all)"


def _listed(changes: list[Change]) -> list[Change]:
    """Return the changes of one table without the new rows beyond MOST_ADDED."""
    added = [change for change in changes if change.action == ADD]
    if len(added) <= MOST_ADDED:
        return changes
    if len(added) == len(changes):
        return changes[:MOST_ADDED]
    last = added[MOST_ADDED - 1].key
    position = next(n for n, change in enumerate(changes) if change.key == last)
    rest = (change for change in changes[position + 1 :] if change.action != ADD)
    return [*changes[: position + 1], *rest]


def _module_summary(module: ModulePlan, *, saves: bool) -> str:
    counts = module.counts()
    words = [
        f"{counts[action]} to {verb}"
        for action, verb in ((ADD, "add"), (CHANGE, "change"), (DELETE, "delete"))
        if counts[action]
    ]
    if words:
        return ", ".join(words)
    if module.load:
        return "nothing changes; LOAD again, since the regular expression engine changes"
    written = "; MEMORY is written" if module.stages else ""
    behind = f"; DISK is behind{': SAVE' if saves else ''}" if module.save else ""
    return f"nothing changes at RUNTIME{written}{behind}"


def _change_lines(plan: Plan, change: Change, style: Style, width: int) -> Iterator[str]:
    names = plan.hostgroup_names
    row = f"{MARKS[change.action]} {headline(change, names, width)}"
    line = f"  {style(change.action, row)}"
    beside = note(change, plan.source)
    # Padded by the text alone: codes of colours take no room.
    gap = " " * max(NOTES_FROM - len(row), 2)
    yield f"{line}{gap}{style('dim', beside)}" if beside else line
    fields = listed_fields(change)
    if change.action != ADD:
        for field in fields:
            yield f"        {field.column:<24}{field_text(change, field, names)}"
        for other in change.further:
            for field in other.fields:
                text = f"      {field.column:<24}{field_text(other, field, names)}"
                yield f"  {text:<{NOTES_FROM - 2}}  {style('dim', layers_only(other))}"
    elif fields:
        # Several a line: a new row has many, and none of them was different before.
        yield "        " + ", ".join(f"{f.column} {field_text(change, f, names)}" for f in fields)


def _remarks(plan: Plan, style: Style) -> Iterator[str]:
    if plan.left_alone:
        yield f"left alone   {'; '.join(map(printable, plan.left_alone))}"
    members = [] if plan.is_in_sync else plan.members
    if members:
        yield f"cluster      {cluster_line(plan)}"
    for warning in plan.warnings:
        yield f"warning      {printable(warning)}"
    for name in plan.restart_required:
        yield f"restart      {name} takes effect when ProxySQL is restarted"
    for refusal in plan.refusals:
        yield style("refuse", f"refused      {printable(refusal.text)}")
        yield from (f"               {printable(detail)}" for detail in refusal.details)
    said = (plan.left_alone, members, plan.warnings, plan.restart_required, plan.refusals)
    if any(said):
        yield ""


def cluster_line(plan: Plan) -> str:
    """Return that an instance is in a ProxySQL Cluster, and what that means for a LOAD."""
    names = ", ".join(map(printable, plan.members[:MOST_MEMBERS]))
    more = len(plan.members) - MOST_MEMBERS
    listed = f"{names} and {more} more" if more > 0 else names
    does = "; what is loaded here travels to the others" if travelling([plan]) else ""
    return f"{counted(len(plan.members), 'member')} of a ProxySQL Cluster: {listed}{does}"
