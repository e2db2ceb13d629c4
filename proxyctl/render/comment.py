"""A plan and a replay as markdown for a comment on a pull request, a diff block per admin module.

A comment has a size limit: rows beyond it are counted. Its text comes from files that anybody may
have changed: so no text can end its block, mention a person or become HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice, takewhile

from proxyctl.fleet.outcome import Fleet, Planned
from proxyctl.plan.change import ADD, CHANGE, DELETE, Change
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.plan import (
    cluster_line,
    counts_text,
    discarded_text,
    no_changes,
)
from proxyctl.render.plans_of_fleet import cluster_lines, in_sync_lines, instance_names, summary
from proxyctl.render.replay import TITLE, body_lines, verdict
from proxyctl.render.rows import field_text, headline, layers_only, listed_fields, note
from proxyctl.render.skipped_checks import lint_counts
from proxyctl.render.style import PLAIN
from proxyctl.render.table import inline
from proxyctl.stats.replay.result import Replay
from proxyctl.text import counted, printable

LONGEST = 60_000
"""Characters of the whole text. GitHub refuses a comment of more than 65,536."""
_MOST = (100_000, 3_000, 1_000, 300, 100, 30, 10, 3)
"""Rows listed per admin module, and remarks per plan: the first number with which all fits."""
_SHORTEST = 12
"""Characters of the shortest row: rows that cannot fit are not rendered in vain."""
_LONGEST_REMARK = 400
_MOST_FAILED = 20
_LONGEST_REPLAY = 12_000
_MARKS = {ADD: "+", DELETE: "-", CHANGE: "!"}


def fenced(text: str) -> str:
    """Return text for a line inside a fenced block; it cannot close the block."""
    return printable(text).replace("```", "'''")


def plans_markdown(fleet: Fleet, *, is_all: bool, limit: int = LONGEST) -> str:
    """Return the plans, at most `limit` characters.

    `is_all`: render a fleet: each distinct plan once under the names of its instances.
    """
    groups = fleet.alike if is_all else [[fleet.only()]]
    sizes = [len(module.changes) for group in groups for module in group[0].plan.modules]
    for most in _MOST:
        if most > _MOST[-1] and _SHORTEST * sum(min(size, most) for size in sizes) > limit:
            continue
        head = "\n".join([*_fleet_lines(fleet, most), ""]) if is_all else ""
        head += "\n" if head and groups else ""
        texts = ["\n".join(_plan_lines(group, most)) + "\n" for group in groups]
        if len(head) + sum(map(len, texts)) <= limit:
            return head + "".join(texts)
    room = limit - len(head) - len(_hidden(len(groups), "instance")) - 1
    kept = list(takewhile(lambda length: length <= room, accumulate(map(len, texts))))
    hidden = _hidden(len(groups) - len(kept), "instance")
    return head + "".join([*texts[: len(kept)], f"{hidden}\n"])


def _fleet_lines(fleet: Fleet, most: int) -> Iterator[str]:
    yield from (f"**{inline(summary(fleet))}**", "")
    for failed in fleet.failed[:_MOST_FAILED]:
        yield f"- {inline(failed.name[:100])}: {inline(failed.error.message[:_LONGEST_REMARK])}"
    if len(fleet.failed) > _MOST_FAILED:
        yield f"- {_hidden(len(fleet.failed) - _MOST_FAILED, 'instance')}"
    remarks = [f"- {_remark(text)}" for text in (*in_sync_lines(fleet), *cluster_lines(fleet))]
    yield from _cut(remarks, len(remarks), most, "remark")


def _plan_lines(group: Sequence[Planned], most: int) -> list[str]:
    """Return the plan that the instances of a group share."""
    planned, plan = group[0], group[0].plan
    name, version = inline(instance_names(group)[:100]), inline(plan.version[:100])
    verdict = no_changes(plan) if plan.is_in_sync else f"**{counts_text(plan)}**"
    lines = [f"### proxyctl plan: {name} (ProxySQL {version})", "", verdict, ""]
    if remarks := list(_remarks(planned)):
        lines += [*_cut(remarks, len(remarks), most, "remark"), ""]
    for module in plan.modules:
        if module.changes or module.does_something:
            lines += [_head(module), "", "```diff"]
            lines += _cut(_blocks(plan, module), len(module.changes), most, "row")
            lines += ["```", "", "</details>", ""]
    return lines


def _cut(entries: Iterable[str], total: int, most: int, noun: str) -> list[str]:
    """Return the first `most` of `total` entries, and a line that counts the others."""
    kept = list(islice(entries, most))
    return kept if total <= most else [*kept, _hidden(total - most, noun)]


def _hidden(count: int, noun: str) -> str:
    bullet = "- " if noun == "remark" else ""
    return f"{bullet}... and {counted(count, f'more {noun}')}; see `proxyctl plan`"


def _remarks(planned: Planned) -> Iterator[str]:
    plan = planned.plan
    for refusal in planned.refusals:
        yield f"- :no_entry: {_remark(refusal.message)}"
        yield from (f"    - {_remark(line)}" for line in refusal.below())
    for discarded in plan.discarded:
        yield f"- :wastebasket: discarded: {_remark(discarded_text(discarded))}"
        yield from (f"    - {_remark(edit)}" for edit in discarded.edits)
    restarts = (f"{name}: restart required" for name in plan.restart_required)
    for warning in (*planned.warnings, *restarts):
        yield f"- :warning: {_remark(warning)}"
    if plan.findings:
        from proxyctl.render.lint import finding_lines  # importing lint takes a while

        for finding in plan.findings:
            head, *fix = finding_lines(finding, PLAIN)
            yield f"- :warning: {_remark(head)}"
            yield from (f"    - {_remark(line.strip())}" for line in fix)
    for text in lint_counts(planned.own_plan):
        yield f"- {_remark(f'lint: {text}')}"
    if plan.members and not plan.is_in_sync:
        yield f"- {_remark(cluster_line(plan))}"
    for text in plan.left_alone:
        yield f"- left alone: {_remark(text)}"


def _remark(text: str) -> str:
    return inline(text if len(text) <= _LONGEST_REMARK else f"{text[: _LONGEST_REMARK - 3]}...")


def _head(module: ModulePlan) -> str:
    commands = (("LOAD", module.load), ("SAVE", module.save))
    steps = " and ".join(name for name, command in commands if command) or "MEMORY only"
    rows = counted(len(module.changes), "row")
    return f"<details open><summary>{module.name}: {rows}, {steps}</summary>"


def _blocks(plan: Plan, module: ModulePlan) -> Iterator[str]:
    """Yield one text per row, with all its lines."""
    for change in module.changes:
        yield "\n".join(fenced(line) for line in _diff_lines(plan, change))


def _diff_lines(plan: Plan, change: Change) -> Iterator[str]:
    hostgroups = plan.hostgroup_names
    mark, note_text = _MARKS[change.action], note(change, plan.source)
    yield f"{mark} {headline(change, hostgroups)}{f'  ({note_text})' if note_text else ''}"
    for field in listed_fields(change):
        layers = f"  ({layers_only(field.layers)})" if field.layers else ""
        yield f"{mark}     {field.column}: {field_text(change, field, hostgroups)}{layers}"
    if change.remark:
        yield f"{mark}     {change.remark}"


def replay_markdown(report: Replay, *, limit: int = _LONGEST_REPLAY) -> str:
    """Return the verdict and a replay in a block that can be folded, to append to a plan."""
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
