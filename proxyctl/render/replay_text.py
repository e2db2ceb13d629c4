"""A replay for a terminal: what changes by share of the query time, the biggest digests listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.errors import counted
from proxyctl.plan.guards.shard_moves import move_texts
from proxyctl.plan.plan import ShardMove
from proxyctl.render.style import PLAIN, Style, hostgroup, shown
from proxyctl.routing import Source
from proxyctl.stats.model import Load
from proxyctl.stats.replay.outcome import Kind, Outcome
from proxyctl.stats.replay.result import Entry, Flow, Replay
from proxyctl.stats.units import share_text, time_text
from proxyctl.text import printable

WIDEST_TEXT = 110
"""Characters of a digest text that are shown."""
MOST_FLOWS = 12
_MOST_OUTCOMES = 3
_KINDS = {
    Kind.HOSTGROUP: "go to another hostgroup",
    Kind.REWRITTEN: "are rewritten otherwise",
    Kind.CACHED: "are cached otherwise",
    Kind.BLOCKED: "are answered by a rule, or no more",
    Kind.SETTINGS: "get other settings",
}
_SOURCES = {
    Source.FAST_ROUTING: "fast routing",
    Source.HINT: "a hint",
    Source.DEFAULT_HOSTGROUP: "default_hostgroup",
}
NO_LITERALS = "a digest has no literals: rules on match_pattern cannot be told from it"


def replay_text(report: Replay, moves: Sequence[ShardMove] = (), style: Style = PLAIN) -> str:
    """Return a whole replay."""
    name = f"{report.name}  " if report.name != report.address else ""
    head = f"{printable(name)}{printable(report.address)}  ProxySQL {printable(report.version)}"
    lines = [style("bold", head), "", *_shard_lines(report, moves, style)]
    lines += [*_summary_lines(report), "", *_list_lines(report, style)]
    lines.append(style("bold", verdict(report)))
    return "\n".join(lines) + "\n"


def appended_text(report: Replay, style: Style = PLAIN) -> str:
    """Return a replay as it stands behind a plan, which has its shard moves already."""
    lines = [style("bold", "Replay of the digests that the instance has seen"), ""]
    lines += [*_summary_lines(report), "", *_list_lines(report, style)]
    lines.append(style("bold", verdict(report)))
    return "\n".join(lines) + "\n"


def verdict(report: Replay) -> str:
    """Return the last line."""
    if not report.total.entries:
        return "Replay: the instance has seen no digests."
    changed, undecided = report.changed, report.undecided
    if not report.moves:
        return f"Replay: nothing changes for any of {counted(report.total.entries, 'digest')}."
    return (
        f"Replay: {share_text(report.share(changed))} of the query time changes"
        f" ({counted(changed.entries, 'digest')}), {share_text(report.share(undecided))} cannot be"
        f" told ({counted(undecided.entries, 'digest')})."
    )


def _summary_lines(report: Replay) -> Iterator[str]:
    total = report.total
    yield _tally_line("digests", report, total, time_text(total.sum_time))
    yield _tally_line("stay", report, report.unchanged)
    yield _tally_line("change", report, report.changed)
    for kind, words in _KINDS.items():
        if kind in report.certain:
            yield _tally_line(f"  {words}", report, report.certain[kind])
    yield _tally_line("cannot be told", report, report.undecided)
    for kind, words in _KINDS.items():
        if kind in report.possible:
            yield _tally_line(f"  perhaps {words}", report, report.possible[kind])


def _tally_line(label: str, report: Replay, tally: Load, beside: str = "") -> str:
    share = beside or share_text(report.share(tally))
    return f"{label:<44}{tally.entries:>10,}{share:>10}{tally.count_star:>16,} queries"


def _shard_lines(report: Replay, moves: Sequence[ShardMove], style: Style) -> Iterator[str]:
    for text in move_texts(moves, report.hostgroup_names):
        yield style("refuse", f"shard move   {printable(text)}")
    if moves:
        yield ""


def _list_lines(report: Replay, style: Style) -> Iterator[str]:
    names = report.hostgroup_names
    if report.flows:
        yield "Queries that go elsewhere, by hostgroups and rules:"
        flows = sorted(report.flows.items(), key=lambda item: -item[1].sum_time)
        for flow, tally in flows[:MOST_FLOWS]:
            share = share_text(report.share(tally))
            yield f"  {share:>6}  {counted(tally.entries, 'digest'):<14}{flow_text(flow, names)}"
        if len(flows) > MOST_FLOWS:
            yield f"  ... and {counted(len(flows) - MOST_FLOWS, 'more way')}"
        yield ""
    yield from _entries(
        "Digests that change, the biggest first:", report, report.moved, report.changed, style
    )
    if report.undecided.entries:
        yield from _entries(
            "Digests that cannot be told:", report, report.open, report.undecided, style
        )
        yield from _open_rules(report)
    if report.elsewhere.entries:
        share = share_text(report.share(report.elsewhere))
        yield (
            f"{counted(report.elsewhere.entries, 'digest')} ({share}) did not go where the rules"
            " in force send them: the rules are newer, or it was a hint in a comment, a"
            " transaction, or a mirror."
        )
        for entry in report.astray:
            expected = sorted(entry.verdict.expected or ())
            wanted = " or ".join(hostgroup(one, names) for one in expected)
            seen = hostgroup(entry.seen.hostgroup, names)
            yield f"{_entry_head(report, entry)}seen in {seen}, the rules say {wanted}"
            yield f"          {_text(entry)}"
        yield ""
    for note, count in sorted(report.texts.items()):
        yield f"{counted(count, 'digest')}: {note}"
    if report.flag_rules:
        rules = ", ".join(map(str, report.flag_rules[:MOST_FLOWS]))
        yield f"next_query_flagIN (rule {rules}): every query is taken to begin at flagIN 0"
    if report.texts or report.flag_rules:
        yield ""


def _open_rules(report: Replay) -> Iterator[str]:
    found = sorted(report.open_rules.items(), key=lambda item: -item[1].sum_time)
    for (rule_id, column), tally in found[:MOST_FLOWS]:
        share = share_text(report.share(tally))
        digests = counted(tally.entries, "digest")
        yield f"  {share:>6}  {digests:<14}rule {rule_id}: {column} cannot be told"
    if any(column == "match_pattern" for _, column in report.open_rules):
        yield f"          {NO_LITERALS}"
    yield ""


def _entries(
    title: str, report: Replay, entries: Iterable[Entry], tally: Load, style: Style
) -> Iterator[str]:
    listed = list(entries)
    if not listed:
        return
    yield title
    for entry in listed:
        yield style("change", f"{_entry_head(report, entry)}{entry_text(entry, report)}")
        yield f"          {_text(entry)}"
    if tally.entries > len(listed):
        yield f"  ... and {tally.entries - len(listed):,} more (--limit lists more)"
    yield ""


def _entry_head(report: Replay, entry: Entry) -> str:
    seen = entry.seen
    who = f"{shown(seen.username)}@{shown(seen.schemaname)}"
    return f"  {share_text(report.share(seen)):>6}  {seen.count_star:>10,} x  {who}  "


def _text(entry: Entry) -> str:
    notes = f"   ({'; '.join(entry.verdict.notes)})" if entry.verdict.notes else ""
    return shown(entry.seen.digest_text, limit=WIDEST_TEXT) + notes


def entry_text(entry: Entry, report: Replay) -> str:
    """Return what becomes of a digest before and after."""
    verdict, names = entry.verdict, report.hostgroup_names
    if not verdict.before:
        return "cannot be told"
    before, after = (_outcomes(side, names) for side in (verdict.before, verdict.after))
    rules = sorted({rule_id for rule_id, _ in verdict.undecided})
    open_ = f"   (rule {', '.join(map(str, rules))} cannot be told)" if rules else ""
    return f"{before} -> {after}{open_}"


def _outcomes(outcomes: Sequence[Outcome], names: Mapping[int, str]) -> str:
    texts = list(dict.fromkeys(outcome_text(outcome, names) for outcome in outcomes))
    if len(texts) > _MOST_OUTCOMES:
        texts[_MOST_OUTCOMES:] = [counted(len(texts) - _MOST_OUTCOMES, "other")]
    return " or ".join(texts)


def outcome_text(outcome: Outcome, names: Mapping[int, str]) -> str:
    """Return what becomes of a query: `30 (reader) by rule 5010, cached 5000 ms`."""
    if outcome.answer is not None:
        column, text = outcome.answer
        if not column:
            return "answered by ProxySQL"
        return f"{column} {shown(text, limit=40)} by rule {outcome.rule_id}"
    target = "nowhere" if outcome.hostgroup is None else hostgroup(outcome.hostgroup, names)
    by = f"rule {outcome.rule_id}"
    if outcome.source is not Source.RULE:
        by = _SOURCES.get(outcome.source, "nothing")
    parts = [f"{target} by {by}"]
    if outcome.cache_ttl is not None:
        parts.append(f"cached {outcome.cache_ttl} ms")
    if outcome.rewriting:
        parts.append("rewritten")
    parts += [f"{name} {shown(value)}" for name, value in outcome.settings]
    return ", ".join(parts)


def flow_text(flow: Flow, names: Mapping[int, str]) -> str:
    """Return where queries went and go, and by which rules."""

    def side(hostgroup_: int | None, rule_id: int | None) -> str:
        target = "nowhere" if hostgroup_ is None else hostgroup(hostgroup_, names)
        return f"{target}, {'no rule' if rule_id is None else f'rule {rule_id}'}"

    return f"{side(flow.before, flow.rule_before)} -> {side(flow.after, flow.rule_after)}"
