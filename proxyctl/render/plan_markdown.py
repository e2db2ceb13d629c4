"""The plan as markdown, for a comment on a pull request: a diff block an admin module.

A comment has a limit, and its text comes from files that anybody may have changed: so rows beyond
the limit are counted, and no text can end its block, mention a person or become HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from proxyctl.errors import counted
from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change
from proxyctl.plan.notes import entering_servers
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.fleet_text import cluster_lines, names, told_in_sync
from proxyctl.render.fleet_text import summary as fleet_summary
from proxyctl.render.plan_text import cluster_line, no_changes, summary
from proxyctl.render.rows import field_text, headline, layers_only, listed_fields, note, remark
from proxyctl.text import printable

LONGEST = 60_000
"""Characters of the whole text. GitHub refuses a comment of more than 65,536."""
_LEAST = 4_000
"""Characters that one plan needs in any case; plans without that room are counted."""
_REMARKS_SHARE = 3
"""Refusals and remarks have this part of the characters of a plan."""
_TOLD_SHARE = 6
"""What is said of instances in sync, and of clusters, has this part of all characters."""
_LONGEST_REMARK = 400
_MOST_FAILED = 20


def plan_markdown(plans: Iterable[Plan], *, limit: int = LONGEST) -> str:
    """Return the plans as markdown, of at most `limit` characters in all."""
    found = list(plans)
    texts: list[str] = []
    left = limit - len(_more(len(found), "instance"))
    for number, plan in enumerate(found):
        if left < _LEAST:
            texts.append(_more(len(found) - number, "instance") + "\n")
            break
        share = max(left // (len(found) - number), _LEAST)
        texts.append("\n".join(_plan_lines(plan, share)) + "\n")
        left -= len(texts[-1])
    return "".join(texts)


def fleet_markdown(fleet: Fleet) -> str:
    """Return the plans of many instances as markdown: each once, and who has it."""
    lines = [f"**{_inline(fleet_summary(fleet))}**", ""]
    lines += [
        f"- {_inline(one.name[:100])}: {_inline(one.error.message[:_LONGEST_REMARK])}"
        for one in fleet.failed[:_MOST_FAILED]
    ]
    if len(fleet.failed) > _MOST_FAILED:
        lines.append(f"- {_more(len(fleet.failed) - _MOST_FAILED, 'instance')}")
    told = [f"- {_remark(text)}" for text in (*told_in_sync(fleet), *cluster_lines(fleet))]
    lines += _cut(told, LONGEST // _TOLD_SHARE, "remark")
    begin = "\n".join([*lines, ""])
    plans = [replace(alike[0].plan, name=names(alike)) for alike in fleet.alike]
    return f"{begin}\n{plan_markdown(plans, limit=LONGEST - len(begin))}" if plans else begin


def _plan_lines(plan: Plan, limit: int) -> list[str]:
    name, version = _inline(plan.name[:100]), _inline(plan.version[:100])
    lines = [f"### proxyctl plan: {name} (ProxySQL {version})", ""]
    if plan.is_in_sync:
        remarks = _cut(list(_remarks(plan)), limit // _REMARKS_SHARE, "remark")
        return [*lines, no_changes(plan), "", *([*remarks, ""] if remarks else [])]
    lines += [f"**{summary(plan)}**", ""]
    remarks = _cut(list(_remarks(plan)), limit // _REMARKS_SHARE, "remark")
    lines += [*remarks, ""] if remarks else []
    modules = [module for module in plan.modules if module.changes or module.does_something]
    blocks = [list(_blocks(plan, module)) for module in modules]
    frames = [_frame(module) for module in modules]
    room = limit - _size(lines) - sum(map(_size, frames))
    for frame, block, share in zip(frames, blocks, _shares(blocks, room), strict=True):
        lines += [*frame[:3], *_cut(block, share, "row"), *frame[3:]]
    return lines


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _cut(entries: Sequence[str], limit: int, noun: str) -> list[str]:
    """Return the entries that fit, and how many do not."""
    if _size(entries) <= limit:
        return list(entries)
    kept: list[str] = []
    left = limit - len(_more(len(entries), noun)) - 1
    for entry in entries:
        left -= len(entry) + 1
        if left < 0:
            break
        kept.append(entry)
    return [*kept, _more(len(entries) - len(kept), noun)]


def _more(count: int, noun: str) -> str:
    bullet = "- " if noun == "remark" else ""
    return f"{bullet}... and {counted(count, f'more {noun}')}; see `proxyctl plan`"


def _shares(blocks: Sequence[list[str]], room: int) -> list[int]:
    """Return how many characters each block gets: small ones all they need, the others the rest."""
    shares = [0] * len(blocks)
    by_size = sorted(range(len(blocks)), key=lambda number: _size(blocks[number]))
    for done, number in enumerate(by_size):
        shares[number] = min(_size(blocks[number]), max(room, 0) // (len(blocks) - done))
        room -= shares[number]
    return shares


def _remarks(plan: Plan) -> Iterator[str]:
    for refusal in plan.refusals:
        allow = f" (allow with `{refusal.allow}`)" if refusal.allow else ""
        yield f"- :no_entry: {_remark(refusal.message)}{allow}"
        yield from (f"    - {_remark(detail)}" for detail in refusal.details)
    for warning in (*plan.warnings, *(f"{n}: restart required" for n in plan.restart_required)):
        yield f"- :warning: {_remark(warning)}"
    if plan.members and not plan.is_in_sync:
        yield f"- {_remark(cluster_line(plan))}"
    for text in plan.left_alone:
        yield f"- left alone: {_remark(text)}"


def _remark(text: str) -> str:
    cut = text if len(text) <= _LONGEST_REMARK else f"{text[: _LONGEST_REMARK - 3]}..."
    return _inline(cut)


def _frame(module: ModulePlan) -> list[str]:
    """Return the lines around the rows of a module; the first three stand before them."""
    taken = (("LOAD", module.load), ("SAVE", module.save))
    steps = " and ".join(step for step, is_taken in taken if is_taken) or "MEMORY only"
    rows = counted(len(module.changes), "row")
    head = f"<details open><summary>{module.name}: {rows}, {steps}</summary>"
    return [head, "", "```diff", "```", "", "</details>", ""]


def _blocks(plan: Plan, module: ModulePlan) -> Iterator[str]:
    """Yield the lines of each row as one text."""
    entering = entering_servers(module, plan.families)
    for change in module.changes:
        aside = remark(change, entering, plan.hostgroup_names)
        yield "\n".join(_diff_lines(plan, change, aside))


def _diff_lines(plan: Plan, change: Change, aside: str) -> Iterator[str]:
    mark = {ADD: "+", DELETE: "-", CHANGE: "!"}[change.action]
    names = plan.hostgroup_names
    beside = note(change, plan.source)
    yield f"{mark} {_fenced(headline(change, names))}{f'  ({_fenced(beside)})' if beside else ''}"
    for field in listed_fields(change):
        yield f"{mark}     {field.column}: {_fenced(field_text(change, field, names))}"
    for other in change.further:
        for field in other.fields:
            text = _fenced(field_text(other, field, names))
            yield f"{mark}     {field.column}: {text}  ({layers_only(other)})"
    if aside:
        yield f"{mark}     {_fenced(aside)}"


def _fenced(text: str) -> str:
    """A row must not be able to close the code block."""
    return printable(text).replace("```", "'''")


def _inline(text: str) -> str:
    """Return text that is no markup, no HTML and no mention of anybody."""
    escaped = printable(text).replace("&", "&amp;")
    for character in "\\`*_<>[]|~$":
        escaped = escaped.replace(character, f"\\{character}")
    # A zero-width space: a mention would be made of `@name` however it is escaped.
    return escaped.replace("@", "@&#8203;")
