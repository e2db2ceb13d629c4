"""Compares what ProxySQL does with a digest under the rules before and after.

Both sides evaluate the digest text. A rule with a condition that a digest cannot decide is
evaluated as a match and as no match. If the text leaves open what the query was, no change is
certain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.errors import ProxyctlError
from proxyctl.proxysql.configuration import BeforeAfter, Configuration
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.open_questions import Assumptions, Question, Rewriting, every_outcome
from proxyctl.routing.query import ClientQuery
from proxyctl.routing.regex import engine_for
from proxyctl.routing.result import HostgroupOrigin, Route
from proxyctl.routing.router import Router, router_of
from proxyctl.routing.set_statements import SetReading, read_set
from proxyctl.routing.special import (
    LAST_INSERT_ID,
    Special,
    Stage,
    after_rules,
    before_rules,
    is_set,
    of_set,
    of_use,
)
from proxyctl.rows.row import Row
from proxyctl.stats.model import SeenDigest

_RULES = "mysql_query_rules"
_ENGINE = "mysql-query_processor_regex"

MOST_WAYS = 64
"""The most combinations of assumptions to evaluate; with more of them the verdict is unknown."""

CUT = "cut"
OTHER_OPTIONS = "made under different mysql-query_digests variables"
TOO_MANY = "too many undecided rules"
SET_VALUES = "a digest does not show the values, which determine whether ProxySQL answers a SET"


# The outcome of a query ---------------------------------------------------------------------------


class DifferenceKind(StrEnum):
    """The kinds of differences between two outcomes."""

    HOSTGROUP = "hostgroup"
    REWRITTEN = "rewritten"
    CACHED = "cached"
    BLOCKED = "blocked"
    """A difference in OK_msg or error_msg: added, removed, or another message."""
    SETTINGS = "settings"
    """Mirroring, timeouts, delays and similar columns."""


class QueryTreatment(NamedTuple):
    """What ProxySQL does with a query. If it answers itself, only `answer` counts."""

    hostgroup: int | None
    """The hostgroup that gets the query; None if there is none."""
    source: HostgroupOrigin
    """What chose the hostgroup."""
    rule_id: int | None
    """The rule that chose the hostgroup, else the last rule that matched, else None."""
    answer: tuple[str, str] | None = None
    """The pair (OK_msg or error_msg, the text). If ProxySQL answers regardless of the rules, it is
    ("", a description)."""
    cache_ttl: int | None = None
    """How long the result is cached; None if it is not. Units: milliseconds."""
    rewriting: Rewriting = ()
    """The rewriting of the text by rules; empty if no rule rewrites it."""
    settings: tuple[tuple[str, int | str], ...] = ()
    """Further values that rules set, sorted by name."""


_ANSWERS = ("OK_msg", "error_msg")
_NOT_IN_SETTINGS = frozenset({*_ANSWERS, "cache_ttl", "cache_timeout", "reconnect", "sticky_conn"})
"""Columns that have their own comparison, or that ProxySQL does not use."""


def _answered(special: Special) -> QueryTreatment:
    return QueryTreatment(None, HostgroupOrigin.NOTHING, None, ("", special.effect))


def outcome_of(route: Route, rewriting: Rewriting, special: Special | None) -> QueryTreatment:
    """Return the outcome of a route. `special`: the special statement that the text is, if any."""
    rule_id = route.rule_id
    if rule_id is None and route.matched_rules:
        rule_id = route.matched_rules[-1]
    for name in _ANSWERS:
        if name in route.settings:
            answer = (name, str(route.settings[name]))
            return QueryTreatment(None, route.source, rule_id, answer)
    if special is not None and special.is_answered:
        return _answered(special)
    cache_ttl = route.settings.get("cache_ttl")
    if special is LAST_INSERT_ID or not isinstance(cache_ttl, int) or cache_ttl <= 0:
        cache_ttl = None
    settings = sorted((n, v) for n, v in route.settings.items() if n not in _NOT_IN_SETTINGS)
    return QueryTreatment(
        route.destination_hostgroup,
        route.source,
        rule_id,
        cache_ttl=cache_ttl,
        rewriting=rewriting,
        settings=tuple(settings),
    )


def kinds_of(before: QueryTreatment, after: QueryTreatment) -> frozenset[DifferenceKind]:
    """Return how two outcomes differ. Another rule with the same effect is no difference."""
    if before.answer or after.answer:
        return frozenset({DifferenceKind.BLOCKED} if before.answer != after.answer else ())
    pairs = (
        (DifferenceKind.HOSTGROUP, before.hostgroup, after.hostgroup),
        (DifferenceKind.REWRITTEN, before.rewriting, after.rewriting),
        (DifferenceKind.CACHED, before.cache_ttl, after.cache_ttl),
        (DifferenceKind.SETTINGS, before.settings, after.settings),
    )
    return frozenset(kind for kind, old, new in pairs if old != new)


# What the files change for a digest ---------------------------------------------------------------


@dataclass(frozen=True)
class ReplayVerdict:
    """What the files change for a digest."""

    certain: frozenset[DifferenceKind] = frozenset()
    """The differences whatever the undecided conditions are."""
    possible: frozenset[DifferenceKind] = frozenset()
    """The differences for some answers to these conditions only."""
    before: tuple[QueryTreatment, ...] = ()
    """The distinct possible outcomes before; empty if there are too many combinations."""
    after: tuple[QueryTreatment, ...] = ()
    """The distinct possible outcomes after; empty if there are too many combinations."""
    undecided: tuple[tuple[int, str], ...] = ()
    """The (rule_id, column) of the conditions that a digest cannot decide; empty if they make no
    difference."""
    notes: tuple[str, ...] = ()
    """Sentences about what is unknown about the text."""
    is_unknown: bool = False
    """Whether the sides differ, but because of the notes the effect is unknown."""

    @property
    def is_changed(self) -> bool:
        """Whether anything changes for sure."""
        return bool(self.certain)

    @property
    def is_open(self) -> bool:
        """Whether nothing changes for sure but something may."""
        return not self.certain and (self.is_unknown or bool(self.possible))


_MOST_KNOWN = 50_000
"""The most verdicts to remember, for digests that several schemas or hostgroups have."""


class _TextDigest(NamedTuple):
    """A digest as query rules see it."""

    text: bytes
    number: int
    comment: bytes | None
    certain: bool = True


class Comparison:
    """Compares the routes of digests under the rules of two sides."""

    def __init__(self, sides: BeforeAfter, recorded: Mapping[str, str]) -> None:
        """Compile both sides. `recorded`: the digest variables when ProxySQL made the digests.

        Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
        """
        before = after = router_of(sides.before)
        if sides.after is not sides.before:
            engines = {
                engine_for(side.variable(_ENGINE), side.version)
                for side in (sides.before, sides.after)
            }
            after = router_of(sides.after, patterns=before.patterns if len(engines) == 1 else None)
        self.routers = before, after
        self._differences = _Differences(sides, self.routers)
        self.options = _options_of(recorded, sides.before)
        self.digester = Digester(self.options)
        each = [_options_of({}, side) for side in (sides.before, sides.after)]
        self.has_other_options = any(
            _folding(options) != _folding(self.options) for options in each
        )
        # A release may have other digests for a few queries, which no digest shows.
        self.makes_other_digests = any(options != self.options for options in each)
        self._verdicts: dict[tuple[str, str, str, str], ReplayVerdict] = {}
        # Schemas that no rule and no fast routing names share their verdicts.
        self._named_schemas = {r.schemaname for side in self.routers for r in side.rules}
        for side in self.routers:
            self._named_schemas.update(key[1] for key, _ in side.fast_routing.items())

    @property
    def flag_rules(self) -> list[int]:
        """The rules with next_query_flagIN, which a replay ignores."""
        rules = (rule for side in self.routers for rule in side.rules)
        return sorted({rule.rule_id for rule in rules if dict(rule.sets).get("next_query_flagIN")})

    @property
    def rewriting_rules(self) -> list[int]:
        """The rules in force that rewrite: the statistics count the rewritten query."""
        return [rule.rule_id for rule in self.routers[0].rules if rule.replacement is not None]

    def verdict(self, seen: SeenDigest) -> ReplayVerdict:
        """Return what changes for a digest."""
        schemaname = seen.schemaname if seen.schemaname in self._named_schemas else ""
        key = (seen.digest_text, seen.username, schemaname, seen.client_address)
        verdict = self._verdicts.get(key)
        if verdict is None:
            if len(self._verdicts) == _MOST_KNOWN:
                self._verdicts.clear()
            verdict = self._verdicts[key] = self._verdict(seen)
        return verdict

    def _verdict(self, seen: SeenDigest) -> ReplayVerdict:
        text = seen.text
        special = of_use(text, text) or self._before_rules(text) or after_rules(text, text)
        if special and special.is_answered and special.stage is not Stage.AFTER_MESSAGES:
            outcome = _answered(special)
            return ReplayVerdict(before=(outcome,), after=(outcome,))
        comment = _COMMENT.search(text) if self.options.keep_comment else None
        request = ClientQuery(
            None,
            username=seen.username,
            schemaname=seen.schemaname,
            client_addr=seen.client_address or None,
            digest=_TextDigest(text, int(seen.digest, 16), comment[1] if comment else None),
        )
        notes = tuple(self._notes(text))
        before, after = self.routers
        is_of_set = is_set(text)

        def outcome_under(router: Router, assumed: Assumptions) -> QueryTreatment:
            route, rewriting = router.evaluate_digest(request, assumed)
            if is_of_set and not route.is_answered:
                reading = _set_reading(router, text, rewriting, assumed)
                route = _set_route(router, route, request.username, reading)
            return outcome_of(route, rewriting, route.special or special)

        def both(assumed: Assumptions) -> tuple[QueryTreatment, QueryTreatment]:
            outcome = outcome_under(before, assumed)
            return outcome, outcome if after is before else outcome_under(after, assumed)

        outcomes = every_outcome(both, limit=MOST_WAYS)
        if outcomes is None:
            is_unknown = self._differences.may_concern(seen, notes)
            return ReplayVerdict(
                notes=(*notes, TOO_MANY) if is_unknown else notes, is_unknown=is_unknown
            )
        pairs, questions = outcomes
        is_unknown = bool(notes) and self._differences.may_concern(seen, notes)
        verdict = verdict_of(pairs, questions, notes, is_unknown=is_unknown)
        if verdict.possible and any(question.column == _READING for question in questions):
            return replace(verdict, notes=(*notes, SET_VALUES))
        return verdict

    def _before_rules(self, text: bytes) -> Special | None:
        """Return what ProxySQL does before the rules, with a number or a name for each literal."""
        loads = any(side.variables.enable_load_data_local_infile for side in self.routers)
        queries = (text.replace(b"?", literal) for literal in (b"1", b"utf8"))
        found = (before_rules(query, loads_local_files=loads) for query in queries)
        return next((special for special in found if special is not None), None)

    def _notes(self, text: bytes) -> Iterator[str]:
        """Yield reasons why match_digest may have seen another text of the query."""
        is_cut = len(text) >= self.options.max_digest_length
        if is_cut:
            yield CUT
        # If digesting changes the text, ProxySQL made it under earlier values of the variables.
        is_stable = is_cut or self.digester.digest(text).text.rstrip() == text.rstrip()
        if self.has_other_options or not is_stable:
            yield OTHER_OPTIONS


def verdict_of(
    pairs: Sequence[tuple[QueryTreatment, QueryTreatment]],
    questions: Mapping[Question, Collection[int]],
    notes: tuple[str, ...],
    *,
    is_unknown: bool = False,
) -> ReplayVerdict:
    """Return the verdict on all outcomes before and after.

    `questions`: the rules that asked each open question. `notes`: what is unknown about the text;
    with one, no change is certain.
    """
    asked = sorted((r, q.column) for q, ids in questions.items() for r in ids if q.column)
    kinds = [kinds_of(before, after) for before, after in pairs]
    certain = frozenset[DifferenceKind]() if notes else frozenset.intersection(*kinds)
    possible = frozenset.union(*kinds) - certain
    return ReplayVerdict(
        certain,
        possible,
        tuple(dict.fromkeys(outcome for outcome, _ in pairs)),
        tuple(dict.fromkeys(outcome for _, outcome in pairs)),
        tuple(dict.fromkeys(asked)) if possible or is_unknown else (),
        notes,
        is_unknown,
    )


_COMMENT = re.compile(rb"/\*(.*?)\*/", re.DOTALL)


_READING = ""
"""The column of a question that no rule asks: what ProxySQL makes of a SET."""
_READINGS = (SetReading.KEPT, SetReading.FOREIGN, SetReading.UNREADABLE)
"""What that can be if the values or comments, which a digest lacks, decide."""


def _set_reading(
    router: Router, text: bytes, rewriting: Rewriting, assumed: Assumptions
) -> SetReading | None:
    """Return what ProxySQL makes of a SET; None if rules made another statement of it.

    Changes: assumed, which records the question if the digest does not decide.
    """
    reading = read_set(None, text, version=router.variables.version)
    if not rewriting and reading is not SetReading.UNKNOWN:
        return reading
    readings = (*_READINGS, None) if rewriting else _READINGS
    return readings[assumed.answer(Question(_READING, None, rewriting), len(readings), 0)]


def _set_route(
    router: Router, route: Route, username: str | None, reading: SetReading | None
) -> Route:
    """Return the route of a SET, or of what it became."""
    if reading is None:
        return route
    variables = router.variables
    can_lock = variables.set_query_lock_on_hostgroup
    special = of_set(reading, can_lock=can_lock, has_multiplex="multiplex" in route.settings)
    if not special.goes_home:
        return replace(route, special=special)
    user = router.user(username)
    home = None if user is None else user.default_hostgroup
    source = HostgroupOrigin.NOTHING if user is None else HostgroupOrigin.DEFAULT_HOSTGROUP
    return replace(route, destination_hostgroup=home, source=source, rule_id=None, special=special)


def _options_of(recorded: Mapping[str, str], configuration: Configuration) -> DigestOptions:
    """Return the digest options: the recorded variables, and the others as in force.

    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    try:
        return DigestOptions.from_variables(
            {**configuration.all_variables(), **recorded}, configuration.version
        )
    except ValueError as error:
        raise ProxyctlError(str(error)) from error


def _folding(options: DigestOptions) -> tuple[object, ...]:
    """Return what decides about the text of a usual query, in whatever release."""
    return options.values, options.groups, {**vars(options), "version": None}


class _Differences:
    """The differences between two sides, to check whether they may concern an unknown text."""

    def __init__(self, sides: BeforeAfter, routers: tuple[Router, Router]) -> None:
        before, after = self._routers = routers
        has_fast = bool(len(before.fast_routing) or len(after.fast_routing))
        self._concern_all = (
            before.variables != after.variables
            or _options_of({}, sides.before) != _options_of({}, sides.after)
            or (has_fast and before.hides_fast_routing != after.hides_fast_routing)
        )
        keys = before.fast_routing.items() ^ after.fast_routing.items()
        self._fast = frozenset(key[:2] for key, _ in keys)
        ids = _differing_ids(sides)
        self._rules = {
            (rule.username, rule.schemaname, rule.digest)
            for router in routers
            for rule in router.rules
            if rule.rule_id in ids
        }

    def may_concern(self, seen: SeenDigest, notes: Collection[str]) -> bool:
        """Return whether a difference may change the route of a digest, whatever its text.

        `notes` say what is unknown about the text. A text that was cut still has its digest.
        """
        user, schema, number = seen.username, seen.schemaname, int(seen.digest, 16)
        return (
            self._concern_all
            or self._routers[0].user(user) != self._routers[1].user(user)
            or not self._fast.isdisjoint({(user, schema), ("", schema)})
            or any(
                username in (None, user)
                and schemaname in (None, schema)
                and (digest in (None, number) or OTHER_OPTIONS in notes)
                for username, schemaname, digest in self._rules
            )
        )


def _differing_ids(sides: BeforeAfter) -> set[Value]:
    """Return the rule_ids of the rules that differ between the sides, comments aside."""
    tables = [side.tables.get(_RULES) for side in (sides.before, sides.after)]
    if tables[0] is tables[1]:
        return set()
    before, after = (
        {
            (row[held.layout.index["rule_id"]], *_without(row, held.layout.index["comment"]))
            for row in held.rows.values()
        }
        if held
        else set[Row]()
        for held in tables
    )
    return {row[0] for row in before ^ after}


def _without(row: Row, column: int) -> Row:
    return row[:column] + row[column + 1 :]
