"""Renders a replay: the shares of the query time that change, and the biggest digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from proxyctl.plan.guards.shard_moves import move_texts
from proxyctl.plan.plan import ShardMove
from proxyctl.render.encode import ABSENT, INSTANCE, Shape, document
from proxyctl.render.explain import SOURCES
from proxyctl.render.fleet import FAILED, READ, alike_text, counts_line, failures
from proxyctl.render.plan import SHARD_MOVE
from proxyctl.render.style import PLAIN, Style, hostgroup, instance_text, listed_names, shown
from proxyctl.routing.explain import hook_text
from proxyctl.routing.result import HostgroupOrigin
from proxyctl.stats.events.event import EventTally
from proxyctl.stats.model import Load, SeenDigest
from proxyctl.stats.replay.comparison import DifferenceKind, QueryTreatment, ReplayVerdict
from proxyctl.stats.replay.fleet import AlikeReplay, ReplayOfFleet
from proxyctl.stats.replay.result import ChangedDigest, Flow, Replay
from proxyctl.stats.units import share_text, time_text
from proxyctl.text import counted, printable

_Of = TypeVar("_Of")
WIDEST_TEXT = 110
"""The most characters of a digest text to show."""
MOST_LINES = 12
_MOST_OUTCOMES = 3
TITLE = "Replay of the digests that the instance has seen"


def replay_text(
    report: Replay, style: Style = PLAIN, *, title: str = "", moves: Sequence[ShardMove] = ()
) -> str:
    """Render a replay under the name of the instance or another title."""
    lines = [style("bold", title or instance_text(report)), ""]
    for text in move_texts(moves, report.hostgroup_names):
        lines.append(style("refuse", f"shard move   {printable(text)}"))
    lines += [""] * bool(moves)
    return "\n".join([*lines, *body_lines(report, style)]) + "\n"


def replay_of_fleet_text(fleet: ReplayOfFleet, style: Style = PLAIN) -> str:
    """Render each replay once, under the names of the instances that share it."""
    pages = []
    for alike in fleet.replays:
        names = [instance.name for instance in alike.instances]
        title = alike_text(names, alike.replay.version) if len(names) > 1 else ""
        pages.append(replay_text(alike.replay, style, title=title, moves=alike.moves))
    last = [*failures(fleet.failed, style), _fleet_counts(fleet) + "\n"]
    return "\n".join([*pages, *last])


def _fleet_counts(fleet: ReplayOfFleet) -> str:
    """Return the counts of instances by what the files would change there."""
    count = {True: 0, False: 0}
    for alike in fleet.replays:
        count[alike.may_change] += len(alike.instances)
    changing = [alike.instances for alike in fleet.replays if alike.may_change]
    names = "; ".join(listed_names([instance.name for instance in group]) for group in changing)
    parts = [f"{count[False]} with no change"] if count[False] else []
    parts += [f"{count[True]} with changes: {names}"] if changing else []
    return counts_line(sum(count.values()), parts, fleet.failed)


def body_lines(report: Replay, style: Style) -> Iterator[str]:
    """Yield what changes, what is undecided, and the verdict."""
    tallies = {"digests": report.total, "stay": report.unchanged, "change": report.changed}
    tallies |= {f"  {kind}": report.kinds[kind] for kind in DifferenceKind if kind in report.kinds}
    for label, load in {**tallies, "undecided": report.undecided}.items():
        is_total = load is report.total
        share = time_text(load.sum_time) if is_total else share_text(report.share(load))
        count, _, noun = counted(load.count_star, "query").partition(" ")
        yield f"{label:<36}{load.entries:>10,}{share:>10}{count:>16} {noun}"
    yield ""
    names = report.hostgroup_names
    flows = {
        f"{_hostgroup_or_nowhere(current, names)} -> {_hostgroup_or_nowhere(desired, names)}": load
        for (current, desired), load in report.flows.items()
    }
    yield from _load_lines(report, "Queries that go elsewhere, by hostgroups:", flows)
    yield from _entries(report, style)
    rules = {
        f"rule {rule_id}: {column}": load for (rule_id, column), load in report.open_rules.items()
    }
    yield from _load_lines(report, "Undecided, by rule and column:", rules)
    notes = [*_notes(report)]
    yield from [*notes, ""] if notes else ()
    yield style("bold", verdict(report))


def verdict(report: Replay) -> str:
    """Return the last line: whether anything changes."""
    if not report.total.entries:
        if report.events is not None:
            return "Replay: the event log has no queries."
        return "Replay: the instance has seen no digests."
    changed, undecided = report.changed, report.undecided
    if not report.may_change:
        return f"Replay: nothing changes for any of {counted(report.total.entries, 'digest')}."
    return (
        f"Replay: {share_text(report.share(changed))} of the query time changes"
        f" ({counted(changed.entries, 'digest')}), {share_text(report.share(undecided))}"
        f" undecided ({counted(undecided.entries, 'digest')})."
    )


def _hostgroup_or_nowhere(number: int | None, names: Mapping[int, str]) -> str:
    return "nowhere" if number is None else hostgroup(number, names)


def _load_lines(report: Replay, title: str, loads: Mapping[str, Load]) -> Iterator[str]:
    """Yield the biggest loads, each with its label."""
    if not loads:
        return
    yield title
    for text, load in _by_time(loads)[:MOST_LINES]:
        share = share_text(report.share(load))
        yield f"  {share:>6}  {counted(load.entries, 'digest'):<14}{text}"
    if len(loads) > MOST_LINES:
        yield f"  ... and {len(loads) - MOST_LINES:,} more"
    yield ""


def _by_time(loads: Mapping[_Of, Load]) -> list[tuple[_Of, Load]]:
    return sorted(loads.items(), key=lambda item: -item[1].sum_time)


def _notes(report: Replay) -> Iterator[str]:
    if report.events is not None:
        yield from report.events.notes()
    for note, count in sorted(report.texts.items()):
        yield f"{counted(count, 'digest')}: {note}"
    for column, rules, note in (
        ("next_query_flagIN", report.flag_rules, "assumes that every query begins at flagIN 0"),
        ("replace_pattern", report.rewriting_rules, "the statistics count the rewritten queries"),
    ):
        if rules:
            yield f"{column} (rule {', '.join(map(str, rules[:MOST_LINES]))}): {note}"
    for plugin in report.plugins:
        yield f"not replayed: {hook_text(plugin)}"


def _entries(report: Replay, style: Style) -> Iterator[str]:
    if not report.entries:
        return
    yield "Digests that change or may change, the biggest first:"
    for seen, verdict in report.entries:
        user = f"{shown(seen.username)}@{shown(seen.schemaname)}"
        head = f"  {share_text(report.share(seen)):>6}  {seen.count_star:>10,} x  {user}  "
        yield style("change", head + _verdict_text(verdict, report.hostgroup_names))
        notes = f"   ({'; '.join(verdict.notes)})" if verdict.notes else ""
        yield f"          {shown(seen.digest_text, limit=WIDEST_TEXT)}{notes}"
    unlisted = report.changed.entries + report.undecided.entries - len(report.entries)
    if unlisted:
        yield f"  ... and {unlisted:,} more (--limit lists more)"
    yield ""


def _verdict_text(verdict: ReplayVerdict, names: Mapping[int, str]) -> str:
    """Return the outcomes of a digest before and after."""
    if not verdict.before:
        return "undecided"
    before, after = (outcomes_text(side, names) for side in (verdict.before, verdict.after))
    rules = sorted({rule_id for rule_id, _ in verdict.undecided})
    undecided = f"   (rule {', '.join(map(str, rules))} undecided)" if rules else ""
    return f"{before} -> {after}{undecided}"


def outcomes_text(
    outcomes: Sequence[QueryTreatment], names: Mapping[int, str], noun: str = ""
) -> str:
    """Return the first outcomes and the number of others. `noun`: precedes a hostgroup."""
    texts = list(dict.fromkeys(_outcome_text(outcome, names, noun) for outcome in outcomes))
    if len(texts) > _MOST_OUTCOMES:
        texts[_MOST_OUTCOMES:] = [counted(len(texts) - _MOST_OUTCOMES, "other")]
    return " or ".join(texts)


def _outcome_text(outcome: QueryTreatment, names: Mapping[int, str], noun: str) -> str:
    """Return the outcome of a query: `30 (reader) by rule 5010, cached 5000 ms`."""
    if outcome.answer is not None:
        column, text = outcome.answer
        return f"{column} {shown(text, limit=40)} by rule {outcome.rule_id}" if column else text
    if outcome.hostgroup is None:
        return "nowhere: no rule, and no such user in mysql_users"
    by = (
        f"rule {outcome.rule_id}"
        if outcome.source is HostgroupOrigin.RULE
        else SOURCES[outcome.source]
    )
    parts = [f"{noun}{hostgroup(outcome.hostgroup, names)} by {by}"]
    if outcome.cache_ttl is not None:
        parts.append(f"cached {outcome.cache_ttl} ms")
    if outcome.rewriting:
        parts.append("rewritten")
    parts += [f"{name} {shown(value)}" for name, value in outcome.settings]
    return ", ".join(parts)


# -- JSON.


def replay_json(report: Replay, moves: Sequence[ShardMove]) -> str:
    """Render a replay as JSON."""
    head = REPLAY.encode(report, shard_moves=SHARD_MOVE.each(moves))
    return document({**head, **REPLAYED.encode(report)})


def replay_of_fleet_json(fleet: ReplayOfFleet) -> str:
    """Render the replays of many instances as JSON."""
    replays = [
        {**ALIKE_REPLAY.encode(alike), **REPLAYED.encode(alike.replay)} for alike in fleet.replays
    ]
    return REPLAY_OF_FLEET.document(fleet, replays=replays)


REPLAY_OF_FLEET: Shape[ReplayOfFleet] = Shape(
    "replay of a fleet", "replays failed", failed=lambda fleet: FAILED.each(fleet.failed)
)
ALIKE_REPLAY: Shape[AlikeReplay] = Shape(
    "replay of instances alike",
    "instances shard_moves",
    instances=lambda alike: READ.each(alike.instances),
    shard_moves=lambda alike: SHARD_MOVE.each(alike.moves),
)


OUTCOME: Shape[QueryTreatment] = Shape(
    "outcome of a digest",
    "hostgroup by rule_id cache_ttl rewritten answer settings",
    by=lambda outcome: SOURCES[outcome.source],
    rewritten=lambda outcome: bool(outcome.rewriting),
    answer=lambda outcome: ANSWER.maybe(outcome.answer),
    settings=lambda outcome: dict(outcome.settings),
)
ANSWER: Shape[tuple[str, str]] = Shape.of_tuples("answer", "column text")


REPLAY: Shape[Replay] = Shape("replay", f"{INSTANCE} taken_at shard_moves")
REPLAYED: Shape[Replay] = Shape(
    "result of a replay",
    "total unchanged changed undecided kinds undecided_rules texts next_query_flagIN"
    " replace_pattern plugins events notes flows digests",
    total=lambda report: _part(report, report.total),
    unchanged=lambda report: _part(report, report.unchanged),
    changed=lambda report: _part(report, report.changed),
    undecided=lambda report: _part(report, report.undecided),
    kinds=lambda report: {kind: _part(report, load) for kind, load in sorted(report.kinds.items())},
    undecided_rules=lambda report: [
        {**UNDECIDED.encode(rule), **_part(report, load)}
        for rule, load in sorted(report.open_rules.items())
    ],
    next_query_flagIN=lambda report: report.flag_rules,
    replace_pattern=lambda report: report.rewriting_rules,
    events=lambda report: ABSENT if report.events is None else EVENTS.encode(report.events),
    notes=lambda report: ABSENT if report.events is None else [*report.events.notes()],
    flows=lambda report: [
        {**FLOW.encode(flow), **_part(report, load)} for flow, load in _by_time(report.flows)
    ],
    digests=lambda report: [
        {**ENTRY.encode(entry, share=_share(report, entry.seen)), **SEEN.encode(entry.seen)}
        for entry in report.entries
    ],
)
EVENTS: Shape[EventTally] = Shape(
    "events of a log",
    "executed prepared pgsql without_errno",
)
PART: Shape[Load] = Shape(
    "tally", "digests count_star sum_time share", digests=lambda load: load.entries
)
FLOW: Shape[Flow] = Shape("flow", "current desired")
UNDECIDED: Shape[tuple[int, str]] = Shape.of_tuples("undecided rule", "rule_id column")
SEEN: Shape[SeenDigest] = Shape("row of stats_mysql_query_digest", " ".join(SeenDigest._fields))
ENTRY: Shape[ChangedDigest] = Shape(
    "digest of a replay",
    "status share kinds current desired undecided notes",
    status=lambda entry: "changed" if entry.verdict.is_changed else "undecided",
    kinds=lambda entry: sorted(entry.verdict.certain or entry.verdict.possible),
    current=lambda entry: OUTCOME.each(entry.verdict.before),
    desired=lambda entry: OUTCOME.each(entry.verdict.after),
    undecided=lambda entry: UNDECIDED.each(entry.verdict.undecided),
    notes=lambda entry: entry.verdict.notes,
)


def _share(report: Replay, load: Load | SeenDigest) -> float:
    return round(report.share(load), 6)


def _part(report: Replay, load: Load) -> dict[str, object]:
    return PART.encode(load, share=_share(report, load))
