"""A replay: what changes by share of the query time, the biggest digests listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from proxyctl.errors import counted
from proxyctl.plan.guards.shard_moves import move_texts
from proxyctl.plan.plan import ShardMove
from proxyctl.render.encode import INSTANCE, Shape, document
from proxyctl.render.explain import SOURCES
from proxyctl.render.plan import SHARD_MOVE
from proxyctl.render.style import PLAIN, Style, hostgroup, instance_text, shown
from proxyctl.routing import Source
from proxyctl.stats.model import Load, SeenDigest
from proxyctl.stats.replay.comparison import Kind, Outcome
from proxyctl.stats.replay.result import Entry, Flow, Replay
from proxyctl.stats.units import share_text, time_text
from proxyctl.text import printable

_Of = TypeVar("_Of")
WIDEST_TEXT = 110
"""Characters of a digest text that are shown."""
MOST_FLOWS = 12
_MOST_OUTCOMES = 3
TITLE = "Replay of the digests that the instance has seen"
_KINDS = {
    Kind.HOSTGROUP: "another hostgroup",
    Kind.REWRITTEN: "rewritten differently",
    Kind.CACHED: "cached differently",
    Kind.BLOCKED: "another answer by a rule",
    Kind.SETTINGS: "other settings",
}
NO_LITERALS = "a digest has no literals: rules on match_pattern cannot be told from it"


def replay_text(report: Replay, moves: Sequence[ShardMove] = (), style: Style = PLAIN) -> str:
    """Return a whole replay."""
    lines = [style("bold", instance_text(report)), ""]
    lines += [*_shard_lines(report, moves, style), *body_lines(report, style)]
    return "\n".join(lines) + "\n"


def appended_text(report: Replay, style: Style = PLAIN) -> str:
    """Return a replay as it stands behind a plan, which has its shard moves already."""
    lines = [style("bold", TITLE), "", *body_lines(report, style)]
    return "\n".join(lines) + "\n"


def body_lines(report: Replay, style: Style) -> Iterator[str]:
    """Yield what changes, what is undecided, and the verdict."""
    yield from _summary_lines(report)
    yield ""
    yield from _list_lines(report, style)
    yield style("bold", verdict(report))


def verdict(report: Replay) -> str:
    """Return the last line."""
    if not report.total.entries:
        return "Replay: the instance has seen no digests."
    changed, undecided = report.changed, report.undecided
    if not report.moves:
        return f"Replay: nothing changes for any of {counted(report.total.entries, 'digest')}."
    return (
        f"Replay: {share_text(report.share(changed))} of the query time changes"
        f" ({counted(changed.entries, 'digest')}), {share_text(report.share(undecided))}"
        f" undecided ({counted(undecided.entries, 'digest')})."
    )


def _summary_lines(report: Replay) -> Iterator[str]:
    total = report.total
    yield _tally_line("digests", report, total, time_text(total.sum_time))
    yield _tally_line("stay", report, report.unchanged)
    yield _tally_line("change", report, report.changed)
    for kind, words in _KINDS.items():
        if kind in report.certain:
            yield _tally_line(f"  {words}", report, report.certain[kind])
    yield _tally_line("undecided", report, report.undecided)
    for kind, words in _KINDS.items():
        if kind in report.possible:
            yield _tally_line(f"  perhaps {words}", report, report.possible[kind])


def _tally_line(label: str, report: Replay, tally: Load, beside: str = "") -> str:
    share = beside or share_text(report.share(tally))
    return f"{label:<36}{tally.entries:>10,}{share:>10}{tally.count_star:>16,} queries"


def _shard_lines(report: Replay, moves: Sequence[ShardMove], style: Style) -> Iterator[str]:
    for text in move_texts(moves, report.hostgroup_names):
        yield style("refuse", f"shard move   {printable(text)}")
    if moves:
        yield ""


def _list_lines(report: Replay, style: Style) -> Iterator[str]:
    names = report.hostgroup_names
    if report.flows:
        yield "Queries that go elsewhere, by hostgroups and rules:"
        flows = _by_time(report.flows)
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
        yield from _entries("Undecided digests:", report, report.open, report.undecided, style)
        yield from _open_rules(report)
    if report.elsewhere.entries:
        share = share_text(report.share(report.elsewhere))
        yield (
            f"{counted(report.elsewhere.entries, 'digest')} ({share}) did not go where the rules"
            " in force send them: the rules may be newer, or a hint in a comment, a transaction"
            " or a mirror decided."
        )
        yield ""
    for note, count in sorted(report.texts.items()):
        yield f"{counted(count, 'digest')}: {note}"
    if report.flag_rules:
        rules = ", ".join(map(str, report.flag_rules[:MOST_FLOWS]))
        yield f"next_query_flagIN (rule {rules}): assumes that every query begins at flagIN 0"
    if report.texts or report.flag_rules:
        yield ""


def _by_time(loads: Mapping[_Of, Load]) -> list[tuple[_Of, Load]]:
    return sorted(loads.items(), key=lambda item: -item[1].sum_time)


def _open_rules(report: Replay) -> Iterator[str]:
    for (rule_id, column), tally in _by_time(report.open_rules)[:MOST_FLOWS]:
        share = share_text(report.share(tally))
        digests = counted(tally.entries, "digest")
        yield f"  {share:>6}  {digests:<14}rule {rule_id}: {column} is undecided"
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
        return "undecided"
    before, after = (outcomes_text(side, names) for side in (verdict.before, verdict.after))
    rules = sorted({rule_id for rule_id, _ in verdict.undecided})
    open_ = f"   (rule {', '.join(map(str, rules))} undecided)" if rules else ""
    return f"{before} -> {after}{open_}"


def outcomes_text(outcomes: Sequence[Outcome], names: Mapping[int, str], noun: str = "") -> str:
    """Return the first outcomes, and how many more there are. `noun`: of a hostgroup."""
    texts = list(dict.fromkeys(_outcome_text(outcome, names, noun) for outcome in outcomes))
    if len(texts) > _MOST_OUTCOMES:
        texts[_MOST_OUTCOMES:] = [counted(len(texts) - _MOST_OUTCOMES, "other")]
    return " or ".join(texts)


def _outcome_text(outcome: Outcome, names: Mapping[int, str], noun: str) -> str:
    """Return what becomes of a query: `30 (reader) by rule 5010, cached 5000 ms`."""
    if outcome.answer is not None:
        column, text = outcome.answer
        return f"{column} {shown(text, limit=40)} by rule {outcome.rule_id}" if column else text
    if outcome.hostgroup is None:
        return "nowhere: no rule, and no such user in mysql_users"
    by = f"rule {outcome.rule_id}" if outcome.source is Source.RULE else SOURCES[outcome.source]
    parts = [f"{noun}{hostgroup(outcome.hostgroup, names)} by {by}"]
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


# -- JSON.


def replay_json(report: Replay, moves: Sequence[ShardMove]) -> str:
    """Return a whole replay as JSON."""
    head = REPLAY.encode(report, shard_moves=SHARD_MOVE.each(moves))
    return document({**head, **REPLAYED.encode(report)})


OUTCOME: Shape[Outcome] = Shape(
    "outcome of a digest",
    "hostgroup by rule_id cache_ttl rewritten OK_msg error_msg answered_by_proxysql special"
    " settings",
    by=lambda one: SOURCES[one.source],
    rewritten=lambda one: bool(one.rewriting),
    OK_msg=lambda one: _message(one, "OK_msg"),
    error_msg=lambda one: _message(one, "error_msg"),
    answered_by_proxysql=lambda one: one.answer is not None,
    special=lambda one: _message(one, ""),
    settings=lambda one: dict(one.settings),
)


def _message(outcome: Outcome, column: str) -> str | None:
    return outcome.answer[1] if outcome.answer and outcome.answer[0] == column else None


REPLAY: Shape[Replay] = Shape("replay", f"{INSTANCE} taken_at shard_moves")
REPLAYED: Shape[Replay] = Shape(
    "result of a replay",
    "total unchanged changed undecided elsewhere texts next_query_flagIN flows digests",
    total=lambda one: _part(one, one.total),
    unchanged=lambda one: _part(one, one.unchanged),
    changed=lambda one: _part(one, one.changed, CHANGED, kinds=_kinds(one, one.certain)),
    undecided=lambda one: _part(
        one,
        one.undecided,
        UNDECIDED,
        kinds=_kinds(one, one.possible),
        rules=_open_rules_of(one),
    ),
    elsewhere=lambda one: _part(one, one.elsewhere),
    next_query_flagIN=lambda one: one.flag_rules,
    flows=lambda one: [_flow(one, flow, load) for flow, load in _by_time(one.flows)],
    digests=lambda one: [
        *(_entry(one, entry, "changed") for entry in one.moved),
        *(_entry(one, entry, "undecided") for entry in one.open),
    ],
)
PART: Shape[Load] = Shape(
    "tally", "digests count_star sum_time share", digests=lambda one: one.entries
)
CHANGED: Shape[Load] = PART.extended("tally of changed digests", "kinds")
UNDECIDED: Shape[Load] = PART.extended("tally of undecided digests", "kinds rules")
OPEN_RULE: Shape[Load] = PART.extended("tally of an undecided rule", "rule_id column")
FLOW: Shape[Load] = PART.extended("flow", "current desired")
SIDE: Shape[tuple[int | None, int | None]] = Shape.of_tuples("side of a flow", "hostgroup rule_id")
SEEN: Shape[SeenDigest] = Shape("row of stats_mysql_query_digest", " ".join(SeenDigest._fields))
ENTRY: Shape[Entry] = Shape(
    "digest of a replay",
    "status share kinds possible_kinds current desired undecided notes",
    kinds=lambda one: sorted(one.verdict.certain),
    possible_kinds=lambda one: sorted(one.verdict.possible),
    current=lambda one: OUTCOME.each(one.verdict.before),
    desired=lambda one: OUTCOME.each(one.verdict.after),
    undecided=lambda one: UNDECIDED_RULE.each(one.verdict.undecided),
    notes=lambda one: one.verdict.notes,
)
UNDECIDED_RULE: Shape[tuple[int, str]] = Shape.of_tuples(
    "undecided rule of a digest", "rule_id column"
)


def _part(
    report: Replay, load: Load, shape: Shape[Load] = PART, **given: object
) -> dict[str, object]:
    return shape.encode(load, share=round(report.share(load), 6), **given)


def _kinds(report: Replay, loads: Mapping[Kind, Load]) -> dict[str, object]:
    return {kind: _part(report, loads.get(kind, Load())) for kind in Kind}


def _open_rules_of(report: Replay) -> list[dict[str, object]]:
    return [
        _part(report, load, OPEN_RULE, rule_id=rule_id, column=column)
        for (rule_id, column), load in sorted(report.open_rules.items())
    ]


def _flow(report: Replay, flow: Flow, load: Load) -> dict[str, object]:
    current = SIDE.encode((flow.before, flow.rule_before))
    desired = SIDE.encode((flow.after, flow.rule_after))
    return _part(report, load, FLOW, current=current, desired=desired)


def _entry(report: Replay, entry: Entry, status: str) -> dict[str, object]:
    share = round(report.share(entry.seen), 6)
    return {**ENTRY.encode(entry, status=status, share=share), **SEEN.encode(entry.seen)}
