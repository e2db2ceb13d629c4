"""How the numbers of a comparison read, for all of its formats."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from proxyctl.render.style import seen_hostgroup, shown
from proxyctl.stats.diff import Diff, Entry, Verdict
from proxyctl.stats.model import Group
from proxyctl.stats.units import number_text, share_text, time_text

WORDS = {
    Verdict.SLOWER: "slower",
    Verdict.FASTER: "faster",
    Verdict.NEW: "new",
    Verdict.VANISHED: "vanished",
    Verdict.SAME: "same",
    Verdict.FEW_CALLS: "few calls",
}
_LEAST_A_SECOND = 0.1


def rate_text(rate: float) -> str:
    """Return calls a second: `12.3/s`; few of them by the hour: `4.00/h`."""
    if 0 < rate < _LEAST_A_SECOND:
        return f"{number_text(rate * 3600)}/h"
    return f"{number_text(rate)}/s"


def change_text(before: float, after: float) -> str:
    """Return how much more or less something became: `-65.7%`; '' where nothing was before."""
    return f"{(after - before) / before:+.1%}" if before else ""


def moment_text(taken_at: int) -> str:
    """Return unix seconds as a date and a time in UTC."""
    try:
        return f"{datetime.fromtimestamp(taken_at, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return str(taken_at)


def span_text(seconds: int) -> str:
    """Return a number of seconds with a unit that suits it."""
    return time_text(seconds * 1_000_000)


def totals_of(diff: Diff) -> list[tuple[str, str, str, str]]:
    """Return the lines of the summary: what, before, after, and the change."""
    one, other = diff.before, diff.after
    rates = [side.total.count_star / side.seconds for side in (one, other)]
    busy = [side.total.sum_time / side.seconds for side in (one, other)]
    averages = [one.total.average, other.total.average]
    texts = [time_text(s.total.average) if s.total.count_star else "-" for s in (one, other)]
    has_both = one.total.count_star and other.total.count_star
    return [
        ("until (UTC)", moment_text(one.taken_at), moment_text(other.taken_at), ""),
        ("counted for", span_text(one.seconds), span_text(other.seconds), ""),
        ("queries", rate_text(rates[0]), rate_text(rates[1]), change_text(*rates)),
        ("query time", *(f"{time_text(one)}/s" for one in busy), change_text(*busy)),  # type: ignore[list-item]
        ("average", *texts, change_text(*averages) if has_both else ""),  # type: ignore[list-item]
    ]


def name_of(diff: Diff, entry: Entry) -> str:
    """Return what an entry is about: its digest, and the other columns that were asked for."""
    parts = []
    for by, value in zip(diff.by, entry.key, strict=True):
        text = shown(value, limit=60)
        if by is Group.HOSTGROUP:
            text = seen_hostgroup(int(value), diff.hostgroup_names)
        parts.append(text if by is Group.DIGEST else f"{by} {text}")
    return "  ".join(parts)


def hostgroups_text(calls: Mapping[int, int], names: Mapping[int, str]) -> str:
    """Return where queries went: `10 (writer) 75.0%, query cache 25.0%`."""
    total = sum(calls.values())
    return ", ".join(
        seen_hostgroup(number, names) + (f" {share_text(count / total)}" if len(calls) > 1 else "")
        for number, count in sorted(calls.items(), key=lambda item: -item[1])
    )


def verdict_text(entry: Entry) -> str:
    """Return the verdict in a word or two."""
    return WORDS[entry.verdict]


def counts_text(diff: Diff) -> str:
    """Return how many of which kind there are, in one line."""
    parts = [f"{count:,} {WORDS[kind]}" for kind, count in diff.counts.items() if count]
    if diff.moved:
        parts.append(f"{diff.moved:,} moved to other hostgroups")
    return ", ".join(parts) or "no digests"
