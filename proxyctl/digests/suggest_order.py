"""Rules in an order in which fewer of them are tried for the bulk of the load.

A rule is only moved past one that cannot match the same query: another user, schema, port or
digest, or a match_digest that begins otherwise. So the order means the same for queries that were
never seen, as far as these criteria go; a replay then proves it on those that were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from proxyctl.catalog import Value
from proxyctl.digests.suggest_chains import Bulk, Chain, chain_of
from proxyctl.digests.suggest_context import Context
from proxyctl.digests.suggest_found import Kind, Suggestion
from proxyctl.digests.suggest_rules import RULES, with_rules
from proxyctl.digests.units import count_text
from proxyctl.regex import Compiled
from proxyctl.routing.of_configuration import router_of
from proxyctl.routing.patterns import Broken
from proxyctl.routing.rule import Rule

_MOST_RULES = 2_000
_PREFIX = re.compile(rb"\^([A-Za-z_0-9 `]+)")
_MAY_BE_ABSENT = (b"?", b"*", b"{")
_GROUP = re.compile(rb"\([^()]*\)")

Texts = Mapping[Compiled, bytes]
"""The patterns as they are written."""

_UNKNOWN = (
    "Whether it is felt: Query_Processor_time_nsec of stats_mysql_global tells what all rules cost."
    " Each rule that is tried costs little; many with patterns cost more.",
    "Rules that a section such as `sharding` makes: their rule_ids are set there.",
    "The replay is no proof for queries that were not seen. No rule is moved past one that could"
    " match the same query by its user, schema, port, digest or the beginning of match_digest.",
)


def better_order(context: Context, bulk: Bulk, chain: Chain) -> Iterator[Suggestion]:
    """Yield an order if there is one that saves enough. `chain`: what the rules in force do."""
    router = context.now.routers[0]
    if router.variables.query_processor_iterations:
        context.note("order: rules are evaluated again (mysql-query_processor_iterations)")
        return
    if not router.variables.query_digests or not bulk.calls:
        return
    rules = list(router.rules)
    if len(rules) > _MOST_RULES:
        context.note(f"order: not computed for more than {_MOST_RULES:,} rules")
        return
    keeps_last = len(router.fast_routing) > 0
    order = _moved(
        rules,
        chain,
        router.patterns.texts(),
        at_least=context.thresholds.order_share * bulk.calls,
        keeps_last=keeps_last,
    )
    ids = _numbered(context, rules, order)
    if not ids:
        return
    cells = _rows(context)
    pasted = [{**cells[old], "rule_id": new} for old, new in ids.items()]
    pasted.sort(key=lambda one: int(one["rule_id"] or 0))
    after = with_rules(context.configuration, pasted, without=ids)
    better = chain_of(router_of(after, patterns=router.patterns), bulk.asked)
    saved = 1 - better.looked_at / chain.looked_at if chain.looked_at else 0.0
    if saved < context.thresholds.order_gain:
        return
    report = context.replayed(after)
    if report.moves:
        context.note("order: a better order was found, and would change queries that were seen")
        return
    now, then = chain.looked_at / bulk.calls, better.looked_at / bulk.calls
    yield Suggestion(
        Kind.ORDER,
        f"with {count_text(len(ids), 'rule')} further up {saved:.0%} of the rules need not be"
        " tried",
        {
            "rules_moved": len(ids),
            "calls_looked_at": bulk.calls,
            "share_of_calls": round(bulk.calls / bulk.total, 6) if bulk.total else 0.0,
            "rules_per_query_now": round(now, 3),
            "rules_per_query_then": round(then, 3),
            "patterns_per_query_now": round(chain.patterns / bulk.calls, 3),
            "patterns_per_query_then": round(better.patterns / bulk.calls, 3),
        },
        (
            f"A query now tries {now:.1f} rules and {chain.patterns / bulk.calls:.1f} patterns on"
            f" average, then {then:.1f} and {better.patterns / bulk.calls:.1f}; computed for"
            f" {bulk.calls:,} of {count_text(bulk.total, 'call')}.",
            "Take it by itself: other rules that are proposed here belong into the present order.",
            "New rule_ids: " + ", ".join(f"{old} -> {new}" for old, new in ids.items()) + ".",
        ),
        _UNKNOWN,
        rules=tuple(pasted),
        replaces=tuple(ids),
        proof=(
            f"A replay of {context.replayed_digests(report)}: nothing changes for"
            " any of them. That says nothing of queries that were not seen."
        ),
    )


def _moved(
    rules: Sequence[Rule], chain: Chain, texts: Texts, *, at_least: float, keeps_last: bool
) -> list[Rule]:
    """Return the rules in an order in which those that end most chains stand further up."""
    order: list[Rule] = []
    for number, rule in enumerate(rules):
        place = len(order)
        if not (keeps_last and number == len(rules) - 1):
            ends = chain.ends[rule.rule_id]
            while (
                place
                and ends >= at_least
                and ends > chain.ends[order[place - 1].rule_id]
                and may_pass(rule, order[place - 1], texts)
            ):
                place -= 1
        order.insert(place, rule)
    return order


def may_pass(one: Rule, other: Rule, texts: Texts) -> bool:
    """Return whether two neighbours may change places, whatever the query is."""
    if one.ways or other.ways:
        return False
    if one.flag_in != other.flag_in:
        return one.flag_out != other.flag_in and other.flag_out != one.flag_in
    # One that leads on to another flag leads to rules that stand further down: these stay there.
    if one.flag_out is not None or other.flag_out is not None:
        return False
    return _are_apart(one, other, texts)


def _are_apart(one: Rule, other: Rule, texts: Texts) -> bool:
    """Return whether no query can match both."""
    for name in ("username", "schemaname", "proxy_addr", "proxy_port", "digest"):
        first, second = getattr(one, name), getattr(other, name)
        if first is not None and second is not None and first != second:
            return True
    begins = [_beginning(rule, texts) for rule in (one, other)]
    if not all(begins):
        return False
    length = min(map(len, begins))
    return begins[0][:length] != begins[1][:length]


def _beginning(rule: Rule, texts: Texts) -> bytes:
    """Return how each digest text begins that the rule matches, in lower case; empty: not known."""
    pattern = rule.match_digest
    if pattern is None or isinstance(pattern, Broken) or rule.negated:
        return b""
    text = texts.get(pattern, b"")
    found = _PREFIX.match(text)
    if found is None or b"(?" in text or b"[" in text or _has_alternatives(text):
        return b""
    # What a quantifier follows need not be there.
    known = found[1][:-1] if text[found.end() :].startswith(_MAY_BE_ABSENT) else found[1]
    return known.lower()


def _has_alternatives(text: bytes) -> bool:
    """Return whether a `|` stands outside of all parentheses."""
    text = re.sub(rb"\\.", b"", text)
    while (shorter := _GROUP.sub(b"", text)) != text:
        text = shorter
    return b"|" in text or b"(" in text or b")" in text


def _numbered(context: Context, rules: Sequence[Rule], order: Sequence[Rule]) -> dict[int, int]:
    """Return new rule_ids for the rules that stand further up: free ones, between their neighbours.

    A rule for which there is none stays, and so do those that would have stood behind it.
    """
    places = {rule.rule_id: place for place, rule in enumerate(order)}
    stays = _longest_rising([places[rule.rule_id] for rule in rules])
    kept = {rules[number].rule_id for number in stays}
    found: dict[int, int] = {}
    low = 0
    waiting: list[int] = []
    for rule in order:
        if rule.rule_id not in kept:
            waiting.append(rule.rule_id)
            continue
        if waiting:
            free = _free(context, low, rule.rule_id, len(waiting))
            if free is None:
                return {}
            found.update(zip(waiting, free, strict=True))
            waiting = []
        low = rule.rule_id
    return found if not waiting else {}


def _free(context: Context, low: int, high: int, count: int) -> list[int] | None:
    """Return as many free rule_ids between two, spread evenly; None if there are not enough."""
    step = max(1, (high - low) // (count + 1))
    even = [low + step * (number + 1) for number in range(count)]
    if even[-1] < high and all(
        context.may_use(one) and context.places.is_free(one) for one in even
    ):
        return even
    found = [
        one
        for one in range(max(low, high - 1_000) + 1, high)
        if context.may_use(one) and context.places.is_free(one)
    ]
    return found[-count:] if len(found) >= count else None


def _longest_rising(places: Sequence[int]) -> list[int]:
    """Return which numbers of the list make its longest rising part: what stays where it is."""
    best: list[tuple[int, int | None]] = []
    for number, place in enumerate(places):
        length, before = 1, None
        for earlier in range(number):
            if places[earlier] < place and best[earlier][0] + 1 > length:
                length, before = best[earlier][0] + 1, earlier
        best.append((length, before))
    at: int | None = max(range(len(best)), key=lambda one: best[one][0], default=None)
    found: list[int] = []
    while at is not None:
        found.append(at)
        at = best[at][1]
    return found[::-1]


def _rows(context: Context) -> dict[int, Mapping[str, Value]]:
    held = context.configuration.tables[RULES]
    names = [column.name for column in held.layout.columns]
    position = held.layout.index["rule_id"]
    return {
        int(row[position] or 0): dict(zip(names, row, strict=True)) for row in held.rows.values()
    }
