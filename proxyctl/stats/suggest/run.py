"""Proposals from what an instance has seen, each with its evidence and what it cannot know."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from proxyctl.state.configuration import Configuration
from proxyctl.stats.model import NOT_COUNTING, DigestTable, is_counting
from proxyctl.stats.replay.result import Report
from proxyctl.stats.suggest.caching import cacheable
from proxyctl.stats.suggest.context import Context
from proxyctl.stats.suggest.found import Kind, Suggestion, Suggestions, Thresholds
from proxyctl.stats.suggest.load import load_of
from proxyctl.stats.suggest.readers import readers_of
from proxyctl.stats.suggest.reads import reads_on_writers
from proxyctl.stats.suggest.rules import Cells, is_anyone, rule_layout, with_rules
from proxyctl.stats.suggest.slow import far_above_peers
from proxyctl.stats.units import count_text

_WITH_RULES = (Kind.READS, Kind.CACHE)


def suggest(
    table: DigestTable,
    configuration: Configuration,
    *,
    only: Collection[Kind] = (),
    limit: int | None = 5,
    thresholds: Thresholds | None = None,
    may_use: Callable[[int], bool] = is_anyone,
    progress: Callable[[int], None] = lambda _done: None,
) -> Suggestions:
    """Return what would help.

    `only`: these kinds, all if there are none; `limit`: so many of each kind. `may_use`: which
    rule_ids the files may use; `progress`: called with the number of digests that are replayed.
    Raises: ProxyctlError for digest variables that ProxySQL refuses, or under which it ends.
    """
    thresholds = thresholds or Thresholds()
    load = load_of(table, thresholds.most_rows)
    context = Context(load, configuration, thresholds, limit, may_use, progress=progress)
    if not is_counting(table.variables):
        context.note(NOT_COUNTING)
    if not load.digests:
        context.note("the statistics hold no digest")
    if not load.is_whole:
        calls = sum(seen.count_star for seen in load.close)
        context.note(
            f"of {count_text(load.digests, 'digest')}, {len(load.close):,} are followed through"
            " the rules one by one: those with most time and most calls,"
            f" {calls / max(1, load.count_star):.1%} of all calls. The others are in the"
            " sums, and may hold more reads on a writer"
        )
    found: list[Suggestion] = []
    for kind in Kind:
        if not only or kind in only:
            found += _of(kind, context)
    return Suggestions(
        name=table.name,
        address=table.address,
        version=table.version,
        taken_at=table.taken_at,
        digests=load.digests,
        count_star=load.count_star,
        sum_time=load.sum_time,
        layout=rule_layout(configuration),
        thresholds=context.thresholds,
        found=tuple(_proven(context, found)),
        notes=tuple(context.notes),
        left_out=context.left_out,
    )


def _of(kind: Kind, context: Context) -> Iterator[Suggestion]:
    match kind:
        case Kind.READS:
            yield from reads_on_writers(context, readers_of(context.configuration))
        case Kind.CACHE:
            yield from cacheable(context)
        case Kind.SLOW:
            yield from far_above_peers(context)


def _proven(context: Context, found: list[Suggestion]) -> Iterator[Suggestion]:
    """Replay all digests with all rules at once: each may change its own digest and no other."""
    rules = [rule for one in found if one.kind in _WITH_RULES for rule in one.rules]
    if not rules:
        yield from found
        return
    digests = {str(rule["digest"]) for rule in rules}
    report = context.replayed(with_rules(context.configuration, rules), digests)
    others = _others(report, rules)
    if any(True for _ in context.configuration.rows("mysql_query_rules_fast_routing")):
        # Whether the last rule has apply matters then: each has to do no harm alone as well.
        for rule in rules:
            alone = context.replayed(with_rules(context.configuration, [rule]), digests)
            others |= _others(alone, [rule])
    calls: dict[str, int] = {}
    maybe: dict[str, int] = {}
    for entry in (*report.moved, *report.open):
        digest, count = entry.seen.digest, entry.seen.count_star
        calls[digest] = calls.get(digest, 0) + count
        if entry.verdict.is_open:
            maybe[digest] = maybe.get(digest, 0) + count
    for one in found:
        if one.kind not in _WITH_RULES or not one.rules:
            yield one
        elif others:
            # Something else than a match, such as fast routing that a last rule with apply ends.
            count = count_text(len(others), "other digest")
            proof = f"No rule: with it, {count} in the statistics would change."
            yield replace(one, rules=(), proof=proof)
        else:
            yield replace(
                one,
                proof=(
                    f"A replay of {context.replayed_digests(report)}, with the rules"
                    f" proposed here: {count_text(calls.get(one.digest, 0), 'call')} of this digest"
                    f" {'changes' if calls.get(one.digest) == 1 else 'change'}"
                    f"{_unless(maybe.get(one.digest, 0))}, and no digest for"
                    " which no rule is proposed. That says nothing of queries that were not seen."
                ),
            )


def _unless(count: int) -> str:
    if not count:
        return ""
    return f" ({count:,} of them unless a rule that looks at the query itself answers it)"


def _others(report: Report, rules: list[Cells]) -> set[str]:
    """Return the digests that change, or may, and that no rule is about."""
    changed = {entry.seen.digest for entry in (*report.moved, *report.open)}
    return changed - {str(rule["digest"]) for rule in rules}
