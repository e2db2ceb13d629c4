"""What becomes of a digest under the rules before and after.

Both sides are evaluated on the digest text. A rule that asks for what a digest does not hold is
taken both ways. Where the text itself does not say what the query was, nothing is said for sure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.errors import ProxyctlError
from proxyctl.routing import Request, Route, Router, Source, Special, Stage
from proxyctl.routing.digest import Digester, DigestOptions
from proxyctl.routing.open_questions import Assumptions, Rewriting, every_outcome
from proxyctl.routing.router import router_of
from proxyctl.routing.sides import Sides
from proxyctl.routing.special import LAST_INSERT_ID, USE, after_rules, before_rules, is_use
from proxyctl.state.configuration import Configuration
from proxyctl.state.row import Row
from proxyctl.stats.model import SeenDigest

_RULES = "mysql_query_rules"
_ENGINE = "mysql-query_processor_regex"

MOST_WAYS = 64
"""So many combinations of answers are evaluated; beyond them nothing is said."""

CUT = "cut"
OTHER_OPTIONS = "made under other mysql-query_digests variables"
TOO_MANY = "too many rules that cannot be told"


# What becomes of a query --------------------------------------------------------------------------


class Kind(StrEnum):
    """In what a query's fate differs."""

    HOSTGROUP = "hostgroup"
    REWRITTEN = "rewritten"
    CACHED = "cached"
    BLOCKED = "blocked"
    """By an OK_msg or error_msg; or not any more, or with another message."""
    SETTINGS = "settings"
    """Mirroring, timeouts, delays and the like."""


class Outcome(NamedTuple):
    """What becomes of a query. Shape: nothing but `answer` counts where ProxySQL answers itself.

    `source` says what chose the hostgroup; `rule_id` is the rule that did, else the last rule that
    matched, else None. `answer` is (OK_msg or error_msg, the text); where ProxySQL answers whatever
    the rules say, it is ("", how that is). Units: `cache_ttl` in milliseconds.
    """

    hostgroup: int | None
    source: Source
    rule_id: int | None
    answer: tuple[str, str] | None = None
    cache_ttl: int | None = None
    rewriting: Rewriting = ()
    settings: tuple[tuple[str, int | str], ...] = ()


_ANSWERS = ("OK_msg", "error_msg")
_APART = frozenset({*_ANSWERS, "cache_ttl", "cache_timeout", "reconnect", "sticky_conn"})
"""Settings that are compared by themselves, or that ProxySQL does not use."""


def _answered(special: Special) -> Outcome:
    return Outcome(None, Source.NOTHING, None, ("", special.effect))


def outcome_of(route: Route, rewriting: Rewriting, special: Special | None) -> Outcome:
    """Return what a route means. `special`: what its digest text is, if it reaches the rules."""
    rule_id = route.rule_id
    if rule_id is None and route.matched_rules:
        rule_id = route.matched_rules[-1]
    for name in _ANSWERS:
        if name in route.settings:
            answer = (name, str(route.settings[name]))
            return Outcome(None, route.source, rule_id, answer)
    if special is not None and special.is_answered:
        return _answered(special)
    cached = route.settings.get("cache_ttl")
    if special is LAST_INSERT_ID or not isinstance(cached, int) or cached <= 0:
        cached = None
    settings = sorted((n, v) for n, v in route.settings.items() if n not in _APART)
    return Outcome(
        route.destination_hostgroup,
        route.source,
        rule_id,
        cache_ttl=cached,
        rewriting=rewriting,
        settings=tuple(settings),
    )


def kinds_of(before: Outcome, after: Outcome) -> frozenset[Kind]:
    """Return in what two outcomes differ. Which rule says so is no difference."""
    if before.answer or after.answer:
        return frozenset({Kind.BLOCKED} if before.answer != after.answer else ())
    pairs = (
        (Kind.HOSTGROUP, before.hostgroup, after.hostgroup),
        (Kind.REWRITTEN, before.rewriting, after.rewriting),
        (Kind.CACHED, before.cache_ttl, after.cache_ttl),
        (Kind.SETTINGS, before.settings, after.settings),
    )
    return frozenset(kind for kind, old, new in pairs if old != new)


# What the files change for a digest ---------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What the files change for a digest.

    Shape: `certain`: in what it differs whichever way the undecided fall; `possible`: for some of
    them. `before` and `after` are what may become of it, without repetition; empty where there are
    too many ways. `undecided` are (rule_id, column) that could not be told; empty where that makes
    no difference. `notes` say what is not known of the text. `is_unknown`: for their sake nothing
    is said, although the sides differ.
    """

    certain: frozenset[Kind] = frozenset()
    possible: frozenset[Kind] = frozenset()
    before: tuple[Outcome, ...] = ()
    after: tuple[Outcome, ...] = ()
    undecided: tuple[tuple[int, str], ...] = ()
    notes: tuple[str, ...] = ()
    is_unknown: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether anything changes for sure."""
        return bool(self.certain)

    @property
    def is_open(self) -> bool:
        """Whether nothing changes for sure, and something may."""
        return not self.certain and (self.is_unknown or bool(self.possible))


_MOST_KNOWN = 50_000
"""So many verdicts are remembered, for digests that several schemas or hostgroups have."""


class _TextDigest(NamedTuple):
    """A digest as rules see it."""

    text: bytes
    number: int
    comment: bytes | None
    certain: bool = True


class Comparison:
    """Two routers, asked about one digest after the other."""

    def __init__(self, sides: Sides, recorded: Mapping[str, str]) -> None:
        """Compile both sides. `recorded`: the variables that the digests were made under.

        Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
        """
        before = after = router_of(sides.before)
        if sides.after is not sides.before:
            engine_stays = sides.before.variable(_ENGINE) == sides.after.variable(_ENGINE)
            after = router_of(sides.after, patterns=before.patterns if engine_stays else None)
        self._routers = before, after
        self._differences = _Differences(sides, self._routers)
        self._options = _options_of(recorded, sides.before)
        self._digester = Digester(self._options)
        self._has_other_options = any(
            _options_of({}, side) != self._options for side in (sides.before, sides.after)
        )
        self._verdicts: dict[tuple[str, str, str, str], Verdict] = {}
        # Schemas that nothing names are all alike.
        self._named_schemas = {r.schemaname for side in self._routers for r in side.rules}
        for side in self._routers:
            self._named_schemas.update(key[1] for key, _ in side.fast_routing.items())

    @property
    def flag_rules(self) -> list[int]:
        """The rules that lead a session's next query to another flagIN, which is not followed."""
        rules = (rule for side in self._routers for rule in side.rules)
        return sorted({one.rule_id for one in rules if dict(one.sets).get("next_query_flagIN")})

    @property
    def rewriting_rules(self) -> list[int]:
        """The rules in force that rewrite: the statistics count a query as what it became."""
        return [one.rule_id for one in self._routers[0].rules if one.replacement is not None]

    def verdict(self, seen: SeenDigest) -> Verdict:
        """Return what changes for a digest."""
        schemaname = seen.schemaname if seen.schemaname in self._named_schemas else ""
        key = (seen.digest_text, seen.username, schemaname, seen.client_address)
        found = self._verdicts.get(key)
        if found is None:
            if len(self._verdicts) == _MOST_KNOWN:
                self._verdicts.clear()
            found = self._verdicts[key] = self._verdict(seen)
        return found

    def _verdict(self, seen: SeenDigest) -> Verdict:
        text = seen.text
        special = USE if is_use(text, text) else None
        special = special or before_rules(text.replace(b"?", b"1")) or after_rules(text, text)
        if special and special.is_answered and special.stage is not Stage.AFTER_MESSAGES:
            own = _answered(special)
            return Verdict(before=(own,), after=(own,))
        comment = _COMMENT.search(text) if self._options.keep_comment else None
        request = Request(
            None,
            username=seen.username,
            schemaname=seen.schemaname,
            client_addr=seen.client_address or None,
            digest=_TextDigest(text, int(seen.digest, 16), comment[1] if comment else None),
        )
        notes = tuple(self._notes(text))
        before, after = self._routers

        def both(assumed: Assumptions) -> tuple[Outcome, Outcome]:
            outcome = outcome_of(*before.evaluate_digest(request, assumed), special)
            if after is before:
                return outcome, outcome
            return outcome, outcome_of(*after.evaluate_digest(request, assumed), special)

        found = every_outcome(both, limit=MOST_WAYS)
        if found is None:
            is_unknown = self._differences.may_concern(seen, notes)
            return Verdict(notes=(*notes, TOO_MANY) if is_unknown else notes, is_unknown=is_unknown)
        pairs, questions = found
        asked = sorted((rule_id, q.column) for q, ids in questions.items() for rule_id in ids)
        kinds = [kinds_of(before, after) for before, after in pairs]
        certain = frozenset[Kind]() if notes else frozenset.intersection(*kinds)
        possible = frozenset.union(*kinds) - certain
        is_unknown = bool(notes) and self._differences.may_concern(seen, notes)
        return Verdict(
            certain,
            possible,
            tuple(dict.fromkeys(outcome for outcome, _ in pairs)),
            tuple(dict.fromkeys(outcome for _, outcome in pairs)),
            tuple(dict.fromkeys(asked)) if possible or is_unknown else (),
            notes,
            is_unknown,
        )

    def _notes(self, text: bytes) -> Iterator[str]:
        """Yield why a text is not what match_digest saw of the query, or may not be."""
        is_cut = len(text) >= self._options.max_digest_length
        if is_cut:
            yield CUT
        # A text that digesting changes was made before the variables were set.
        is_stable = is_cut or self._digester.digest(text).text.rstrip() == text.rstrip()
        if self._has_other_options or not is_stable:
            yield OTHER_OPTIONS


_COMMENT = re.compile(rb"/\*(.*?)\*/", re.DOTALL)


def _options_of(recorded: Mapping[str, str], configuration: Configuration) -> DigestOptions:
    """Return the options of digests: those recorded, and for the rest those in force.

    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    try:
        return DigestOptions.from_variables(
            {**configuration.all_variables(), **recorded}, configuration.version
        )
    except ValueError as error:
        raise ProxyctlError(str(error)) from error


class _Differences:
    """What differs between two sides: a digest whose text is not known may have to do with it."""

    def __init__(self, sides: Sides, routers: tuple[Router, Router]) -> None:
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
        """Return whether anything that differs may decide about a digest, whatever its text.

        `notes` say what is not known of the text. One that was cut has its digest all the same.
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


def _differing_ids(sides: Sides) -> set[Value]:
    """Return the rule_ids of the rules that only one side has so. A comment decides nothing."""
    held = [side.tables.get(_RULES) for side in (sides.before, sides.after)]
    if held[0] is held[1]:
        return set()
    before, after = (
        {
            (row[one.layout.index["rule_id"]], *_without(row, one.layout.index["comment"]))
            for row in one.rows.values()
        }
        if one
        else set[Row]()
        for one in held
    )
    return {row[0] for row in before ^ after}


def _without(row: Row, column: int) -> Row:
    return row[:column] + row[column + 1 :]
