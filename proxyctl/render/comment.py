"""The plan and a replay as markdown, for a comment on a pull request: a diff block a module.

A comment has a limit, and its text comes from files that anybody may have changed: so rows beyond
the limit are counted, and no text can end its block, mention a person or become HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from proxyctl.errors import counted
from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.fleet import cluster_lines, in_sync_lines, names, summary
from proxyctl.render.plan import (
    cluster_line,
    counts_text,
    discarded_text,
    no_changes,
    with_remarks,
)
from proxyctl.render.replay import TITLE, body_lines, verdict
from proxyctl.render.rows import field_text, headline, layers_only, listed_fields, note
from proxyctl.render.style import PLAIN
from proxyctl.render.table import inline
from proxyctl.stats.replay.result import Replay
from proxyctl.text import printable

LONGEST = 60_000
"""Characters of the whole text. GitHub refuses a comment of more than 65,536."""
_LEAST = 4_000
"""Characters that one plan needs in any case; plans without that room are counted."""
_REMARKS_SHARE = 3
"""Refusals and remarks have this part of the characters of a plan."""
_FLEET_SHARE = 6
"""Remarks on instances in sync, and on clusters, have this part of all characters."""
_LONGEST_REMARK = 400
_MOST_FAILED = 20
_LONGEST_REPLAY = 12_000
_MARKS = {ADD: "+", DELETE: "-", CHANGE: "!"}


def fenced(text: str) -> str:
    """Return text for a line of a block that stands already: it cannot close the block."""
    return printable(text).replace("```", "'''")


def plans_markdown(fleet: Fleet, *, is_all: bool, limit: int = LONGEST) -> str:
    """Return the plans, of at most `limit` characters in all.

    `is_all`: of a fleet, each distinct plan once, with who has it.
    """
    if not is_all:
        return _plans_text([fleet.only_plan()], limit)
    begin = "\n".join([*_fleet_lines(fleet, limit), ""])
    plans = [replace(alike[0].plan, name=names(alike)) for alike in fleet.alike]
    return f"{begin}\n{_plans_text(plans, limit - len(begin))}" if plans else begin


def _fleet_lines(fleet: Fleet, limit: int) -> Iterator[str]:
    yield from (f"**{inline(summary(fleet))}**", "")
    for one in fleet.failed[:_MOST_FAILED]:
        yield f"- {inline(one.name[:100])}: {inline(one.error.message[:_LONGEST_REMARK])}"
    if len(fleet.failed) > _MOST_FAILED:
        yield f"- {_more(len(fleet.failed) - _MOST_FAILED, 'instance')}"
    remarks = [f"- {_remark(text)}" for text in (*in_sync_lines(fleet), *cluster_lines(fleet))]
    yield from _cut(remarks, limit // _FLEET_SHARE, "remark")


def _plans_text(plans: Sequence[Plan], limit: int) -> str:
    texts: list[str] = []
    left = limit - len(_more(len(plans), "instance"))
    for number, plan in enumerate(plans):
        if left < _LEAST:
            texts.append(_more(len(plans) - number, "instance") + "\n")
            break
        share = max(left // (len(plans) - number), _LEAST)
        texts.append("\n".join(_plan_lines(plan, share)) + "\n")
        left -= len(texts[-1])
    return "".join(texts)


def _plan_lines(plan: Plan, limit: int) -> list[str]:
    name, version = inline(plan.name[:100]), inline(plan.version[:100])
    verdict = no_changes(plan) if plan.is_in_sync else f"**{counts_text(plan)}**"
    lines = [f"### proxyctl plan: {name} (ProxySQL {version})", "", verdict, ""]
    if remarks := _cut(list(_remarks(plan)), limit // _REMARKS_SHARE, "remark"):
        lines += [*remarks, ""]
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
    for one in plan.refusals:
        yield f"- :no_entry: {_remark(one.message)}"
        yield from (f"    - {_remark(line)}" for line in one.below())
    for discarded in plan.discarded:
        yield f"- :wastebasket: discarded: {_remark(discarded_text(discarded))}"
        yield from (f"    - {_remark(edit)}" for edit in discarded.edits)
    for warning in (*plan.warnings, *(f"{n}: restart required" for n in plan.restart_required)):
        yield f"- :warning: {_remark(warning)}"
    if plan.findings:
        from proxyctl.render.lint import finding_lines  # importing lint takes a while

        for finding in plan.findings:
            head, *fix = finding_lines(finding, PLAIN)
            yield f"- :warning: {_remark(head)}"
            yield from (f"    - {_remark(line.strip())}" for line in fix)
    if plan.members and not plan.is_in_sync:
        yield f"- {_remark(cluster_line(plan))}"
    for text in plan.left_alone:
        yield f"- left alone: {_remark(text)}"


def _remark(text: str) -> str:
    return inline(text if len(text) <= _LONGEST_REMARK else f"{text[: _LONGEST_REMARK - 3]}...")


def _frame(module: ModulePlan) -> list[str]:
    """Return the lines around the rows of a module; the first three stand before them."""
    taken = (("LOAD", module.load), ("SAVE", module.save))
    steps = " and ".join(step for step, is_taken in taken if is_taken) or "MEMORY only"
    rows = counted(len(module.changes), "row")
    head = f"<details open><summary>{module.name}: {rows}, {steps}</summary>"
    return [head, "", "```diff", "```", "", "</details>", ""]


def _blocks(plan: Plan, module: ModulePlan) -> Iterator[str]:
    """Yield the lines of each row as one text."""
    for change, text in with_remarks(plan, module):
        yield "\n".join(fenced(line) for line in _diff_lines(plan, change, text))


def _diff_lines(plan: Plan, change: Change, remark: str) -> Iterator[str]:
    hostgroups = plan.hostgroup_names
    mark, beside = _MARKS[change.action], note(change, plan.source)
    yield f"{mark} {headline(change, hostgroups)}{f'  ({beside})' if beside else ''}"
    for field in listed_fields(change):
        yield f"{mark}     {field.column}: {field_text(change, field, hostgroups)}"
    for other in change.further:
        for field in other.fields:
            text = field_text(other, field, hostgroups)
            yield f"{mark}     {field.column}: {text}  ({layers_only(other)})"
    if remark:
        yield f"{mark}     {remark}"


def replay_markdown(report: Replay, *, limit: int = _LONGEST_REPLAY) -> str:
    """Return the verdict, and a replay in a block that can be folded, to stand behind a plan."""
    kept: list[str] = []
    for line in map(fenced, body_lines(report, PLAIN)):
        limit -= len(line) + 1
        if limit < 0:
            kept.append("... more: see `proxyctl replay`")
            break
        kept.append(line)
    text = "\n".join(kept).rstrip("\n")
    return (
        f"**{verdict(report)}**\n\n<details><summary>{TITLE}</summary>\n\n"
        f"```text\n{text}\n```\n\n</details>\n"
    )
