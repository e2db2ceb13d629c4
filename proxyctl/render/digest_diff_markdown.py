"""A comparison of two snapshots as markdown, to be pasted into a ticket."""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.render.digest_diff_figures import (
    change_text,
    counts_text,
    hostgroups_text,
    name_of,
    rate_text,
    totals_of,
    verdict_text,
)
from proxyctl.render.digest_diff_text import head_text
from proxyctl.render.markdown_code import code_span
from proxyctl.render.style import shown
from proxyctl.stats.diff import Diff, Entry, Verdict
from proxyctl.stats.units import time_text

WIDEST_TEXT = 300


def digest_diff_markdown(diff: Diff) -> str:
    """Return a comparison. What came from the server stands in code spans: it is no markup."""
    lines = [f"**Digests before and after**, {code_span(head_text(diff))}", ""]
    lines += [_line(["", "before", "after", "change"]), _line(["---", "---:", "---:", "---:"])]
    lines += [_line(cells) for cells in totals_of(diff)]
    lines.append("")
    lines += [f"Note: {code_span(text)}\n" for text in diff.remarks.values()]
    if not diff.count:
        return "\n".join([*lines, "No digest has any calls."]) + "\n"
    lines += [f"{counts_text(diff)}.", ""]
    heads = ["verdict", "time before", "after", "calls before", "after", "average before", "after"]
    lines.append(_line([*heads, "change", "hostgroups", "digest", "text"]))
    lines.append(_line(["---", *["---:"] * 7, "---", "---", "---"]))
    lines += [_line(_cells(diff, entry)) for entry in diff.entries]
    left = diff.count - len(diff.entries)
    if left:
        lines += ["", f"{left:,} more {'is' if left == 1 else 'are'} not listed."]
    return "\n".join(lines) + "\n"


def _cells(diff: Diff, entry: Entry) -> list[str]:
    busy, rate = diff.busy(entry), diff.rate(entry)
    before, after = entry.before, entry.after
    one, other = (
        hostgroups_text(calls, diff.hostgroup_names)
        for calls in (entry.hostgroups_before, entry.hostgroups_after)
    )
    is_known = after.count_star and entry.verdict is not Verdict.FEW_CALLS
    word = verdict_text(entry) + (", moved" if entry.is_moved else "")
    return [
        word + (", counters cleared" if entry.is_reset else ""),
        *(f"{time_text(time)}/s" for time in busy),
        *(rate_text(calls) for calls in rate),
        *(time_text(load.average) if load.count_star else "" for load in (before, after)),
        change_text(before.average, after.average) if is_known else "",
        f"{one} → {other}" if entry.is_moved else other or one,
        code_span(name_of(diff, entry)),
        code_span(shown(entry.text, limit=WIDEST_TEXT)) if entry.text else "",
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
