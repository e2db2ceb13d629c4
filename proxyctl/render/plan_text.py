"""The plan for a terminal: dense, one line a row, the verdict last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from proxyctl.plan import ADD, CHANGE, DELETE, Change, ModulePlan, Plan
from proxyctl.render.rows import MARKS, detail, field_text, layer_note, subject
from proxyctl.render.style import PLAIN, Style, counted, printable

MOST_ADDED = 200
"""New rows of one table that are listed; the rest is counted. Changes and deletions always are."""


def plan_text(plan: Plan, style: Style = PLAIN, *, is_done: bool = False) -> str:
    """Return the plan of one instance. `is_done`: it stands before an apply's own report."""
    lines = [_headline(plan, style), ""]
    for module in plan.modules:
        if module.changes or module.does_something:
            lines += _module_lines(plan, module, style)
    lines += _remarks(plan, style)
    if plan.is_in_sync:
        lines.append("No changes: MEMORY, RUNTIME and DISK hold what the files say.")
    else:
        lines.append(style("bold", summary(plan)) + ("" if is_done else _nothing_yet(plan)))
    return "\n".join(lines) + "\n"


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
    loads = sum(len(module.images) for module in plan.modules)
    saves = sum(1 for module in plan.modules if module.save)
    changed = (
        f"{counts[ADD]} to add, {counts[CHANGE]} to change, {counts[DELETE]} to delete"
        if any(counts.values())
        else "nothing changes"
    )
    return f"Plan: {changed} at RUNTIME. {loads} LOAD, {saves} SAVE."


def _module_lines(plan: Plan, module: ModulePlan, style: Style) -> Iterator[str]:
    yield f"{style('bold', f'{module.name:<18}')}  {_module_summary(module)}"
    listed: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for change in module.changes:
        if change.action == ADD:
            listed[change.table] += 1
            if listed[change.table] > MOST_ADDED:
                hidden[change.table] += 1
                continue
        yield from _change_lines(plan, change, style)
    for table, count in hidden.items():
        yield f"  + ... and {count} more new rows of {table} (--format json lists all)"


def _module_summary(module: ModulePlan) -> str:
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
    behind = "; DISK is behind: SAVE" if module.save else ""
    return f"nothing changes at RUNTIME{behind}"


def _change_lines(plan: Plan, change: Change, style: Style) -> Iterator[str]:
    mark = MARKS[change.action]
    names = plan.hostgroup_names
    parts = [f"{mark} {subject(change, names)}"]
    if change.table.endswith("_variables"):
        parts.append(field_text(change, change.fields[0], names) if change.fields else "")
    elif text := detail(change, names):
        parts.append(text)
    notes = [layer_note(change)]
    if change.action == DELETE:
        notes.append("in no file")
    elif change.where is not None and change.where.origin:
        notes.append(printable(change.where.origin))
    note = "; ".join(note for note in notes if note)
    line = "  " + style(change.action, "   ".join(parts))
    yield f"{line:<72}  {style('dim', note)}".rstrip() if note else line
    if change.table.endswith("_variables"):
        return
    if change.action == ADD:
        yield from _new_fields(change, names)
        return
    for field in change.fields:
        yield f"        {field.column:<24}{field_text(change, field, names)}"


def _new_fields(change: Change, names: Mapping[int, str]) -> Iterator[str]:
    """Yield the fields of a new row that its own line does not show, several a line."""
    shown_above = {"destination_hostgroup"} if detail(change, names) else set()
    if change.row.get("match_digest") is not None:
        shown_above.add("match_digest")
    elif change.row.get("match_pattern") is not None:
        shown_above.add("match_pattern")
    fields = [
        f"{field.column} {field_text(change, field, names)}"
        for field in change.fields
        if field.column not in shown_above
        and not (field.column == "active" and field.desired == 1)
        and not (field.column == "comment" and change.where and change.where.origin)
    ]
    if fields:
        yield f"        {', '.join(fields)}"


def _remarks(plan: Plan, style: Style) -> Iterator[str]:
    if plan.left_alone:
        yield f"left alone   {'; '.join(map(printable, plan.left_alone))}"
    for warning in plan.warnings:
        yield f"warning      {printable(warning)}"
    for name in plan.restart_required:
        yield f"restart      {name} takes effect when ProxySQL is restarted"
    for refusal in plan.refusals:
        allow = f"   allow with {refusal.allow}" if refusal.allow else ""
        yield style("refuse", f"refused      {printable(refusal.message)}{allow}")
    if plan.left_alone or plan.warnings or plan.restart_required or plan.refusals:
        yield ""
