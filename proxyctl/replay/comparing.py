"""One digest under the rules before and after: what changes for sure, and what cannot be told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from proxyctl.catalog import Value
from proxyctl.digest import DigestOptions
from proxyctl.errors import ProxyctlError
from proxyctl.regex import Compiled
from proxyctl.replay.outcome import OWN, Kind, Outcome, is_own, kinds_of, outcome_of
from proxyctl.replay.seen import SeenDigest
from proxyctl.replay.sides import Sides, rows_by_key
from proxyctl.replay.texts import Known, TextDigest, TextFacts, TextReader, rule_fits
from proxyctl.routing import Request, Router
from proxyctl.routing.guessing import Facts, Guesses, Question, every_way
from proxyctl.routing.of_configuration import router_of
from proxyctl.routing.rule import Rule
from proxyctl.state.configuration import Configuration

_RULES, _FAST = "mysql_query_rules", "mysql_query_rules_fast_routing"

MOST_WAYS = 128
"""So many combinations of what cannot be told are followed; beyond them nothing is said."""
MOST_WAYS_NOW = 32
"""As many where only the present answer is asked for."""


@dataclass(frozen=True)
class Verdict:
    """What the files change for a digest.

    `certain`: in what it differs whichever way the undecided fall; `possible`: for some of them.
    `before` and `after` are what may become of it, without repetition; empty where that was not
    followed. `undecided` are (rule_id, column) that could not be told; they are empty where that
    makes no difference. `expected` are the hostgroups that the rules in force may choose, None if
    that says nothing.
    """

    certain: frozenset[Kind] = frozenset()
    possible: frozenset[Kind] = frozenset()
    before: tuple[Outcome, ...] = ()
    after: tuple[Outcome, ...] = ()
    undecided: tuple[tuple[int, str], ...] = ()
    expected: frozenset[int] | None = None
    is_too_much: bool = False
    """Too many ways: nothing is known of it."""

    @property
    def is_changed(self) -> bool:
        """Whether anything changes for sure."""
        return bool(self.certain)

    @property
    def is_open(self) -> bool:
        """Whether nothing changes for sure, and something may."""
        return not self.certain and (self.is_too_much or bool(self.possible))


_MOST_TEXTS = 100_000
"""So many texts are remembered, for digests that several users or schemas have."""

_OWN = Verdict(before=(OWN,), after=(OWN,))


class Comparison:
    """Two routers, asked about one digest after the other; what is alike is asked once."""

    def __init__(self, sides: Sides, recorded: Mapping[str, str]) -> None:
        """Compile both sides. `recorded`: the variables that the digests were made under."""
        before = router_of(sides.before)
        engine_stays = sides.before.variable(_ENGINE) == sides.after.variable(_ENGINE)
        after = router_of(sides.after, patterns=before.patterns if engine_stays else None)
        self.routers = before, after
        options = options_of(recorded, sides.before)
        self._texts = TextReader(
            options, self.routers, (options_of({}, sides.before), options_of({}, sides.after))
        )
        self._differences = _Differences(sides, self.routers)
        self._known_texts: dict[str, TextFacts] = {}
        self._verdicts: dict[tuple[int, str, str, str], tuple[TextFacts, Verdict]] = {}
        # Schemas that nothing names are all alike.
        self._named_schemas = {r.schemaname for side in self.routers for r in side.rules}
        for side in self.routers:
            self._named_schemas.update(key[1] for key, _ in side.fast_routing.items())
        self._rules_before = {rule.rule_id: rule for rule in before.rules}

    def facts(self, seen: SeenDigest) -> TextFacts:
        """Return what is known of a digest's text."""
        key = seen.digest + seen.digest_text
        found = self._known_texts.get(key)
        if found is None:
            if len(self._known_texts) == _MOST_TEXTS:
                self._known_texts.clear()
            found = self._known_texts[key] = self._texts.read(seen.text, seen.digest)
        return found

    def verdict(self, seen: SeenDigest) -> Verdict:
        """Return what changes for a digest."""
        facts = self.facts(seen)
        # TextReader gives equal facts as one object, which the entry keeps alive.
        schemaname = seen.schemaname if seen.schemaname in self._named_schemas else ""
        key = (id(facts), seen.username, schemaname, seen.client_address)
        found = self._verdicts.get(key)
        if found is None:
            found = self._verdicts[key] = facts, self._verdict(seen, facts)
        return found[1]

    def may_be_rewritten(self, seen: SeenDigest, facts: TextFacts) -> tuple[int, ...]:
        """Return the rules in force that may have made this text of another."""
        if not facts.rewriters:
            return ()
        schemaname = seen.schemaname
        return tuple(
            rule_id
            for rule_id in facts.rewriters
            if rule_fits(
                self._rules_before[rule_id], seen.username, schemaname, self._address(seen)
            )
        )

    def _address(self, seen: SeenDigest) -> str | None:
        return seen.client_address or None

    def _verdict(self, seen: SeenDigest, facts: TextFacts) -> Verdict:
        if is_own(facts.special):
            return _OWN
        rewriters = self.may_be_rewritten(seen, facts)
        asked = _Asked(
            seen,
            facts,
            self._address(seen),
            rewriters,
            self._differences.start_flags(seen.username),
            self._differences.may_concern_user(seen.username),
            self.routers,
        )
        expected, now = self._expected(asked)
        if not self._differences.may_concern(asked):
            return Verdict(before=now, after=now, expected=expected)
        found = every_way(asked.both, limit=MOST_WAYS)
        if found is None:
            return Verdict(is_too_much=True, expected=expected)
        pairs, questions = found
        kinds = [kinds_of(before, after) for before, after in pairs]
        certain = frozenset.intersection(*kinds)
        possible = frozenset.union(*kinds) - certain
        undecided: tuple[tuple[int, str], ...] = ()
        if possible:
            undecided = tuple(sorted({(n, q.column) for q, ids in questions.items() for n in ids}))
        return Verdict(
            certain,
            possible,
            tuple(dict.fromkeys(before for before, _ in pairs)),
            tuple(dict.fromkeys(after for _, after in pairs)),
            undecided,
            expected,
        )

    def _expected(self, asked: _Asked) -> tuple[frozenset[int] | None, tuple[Outcome, ...]]:
        """Return the hostgroups that the rules in force may choose, and what becomes of it."""
        found = every_way(asked.now, limit=MOST_WAYS_NOW)
        if found is None:
            return None, ()
        outcomes = tuple(dict.fromkeys(found[0]))
        if any(outcome.answer or outcome.hostgroup is None for outcome in outcomes):
            return None, outcomes
        return frozenset(o.hostgroup for o in outcomes if o.hostgroup is not None), outcomes


_ENGINE = "mysql-query_processor_regex"


def options_of(recorded: Mapping[str, str], configuration: Configuration) -> DigestOptions:
    """Return the options of digests: those recorded, and for the rest those in force.

    Raises: ProxyctlError for variables that ProxySQL refuses, or under which it ends.
    """
    try:
        return DigestOptions.from_variables({**configuration.all_variables(), **recorded})
    except ValueError as error:
        raise ProxyctlError(str(error)) from error


@dataclass(frozen=True)
class _Asked:
    """One digest, ready to be evaluated."""

    seen: SeenDigest
    facts: TextFacts
    client_addr: str | None
    rewriters: tuple[int, ...]
    start_flags: Mapping[int, tuple[int, ...]]
    flags_are_apart: bool
    routers: tuple[Router, Router]

    def both(self, guesses: Guesses) -> tuple[Outcome, Outcome]:
        """Return what becomes of it before and after."""
        return self._on(0, guesses), self._on(1, guesses)

    def now(self, guesses: Guesses) -> Outcome:
        """Return what becomes of it before."""
        return self._on(0, guesses)

    def _on(self, side: int, guesses: Guesses) -> Outcome:
        known = self.facts.before if side == 0 else self.facts.after
        if self._was_rewritten(guesses):
            known = Known(None, frozenset(), -1, False, "rewritten")
        digest = TextDigest(self.seen.text, known.number, self.facts.comment)
        request = Request(
            None,
            username=self.seen.username,
            schemaname=self.seen.schemaname,
            client_addr=self.client_addr,
            flagIN=self._start_flag(side, guesses),
            digest=digest,
        )
        asked = Facts(request, known.found, known.unsure, known.is_number_known, known.source)
        return outcome_of(*self.routers[side].possible(asked, guesses), self.facts.special)

    def _was_rewritten(self, guesses: Guesses) -> bool:
        if not self.rewriters:
            return False
        question = Question("replace_pattern", self.rewriters)
        return any(guesses.answer(question, 2, rule_id) for rule_id in self.rewriters)

    def _start_flag(self, side: int, guesses: Guesses) -> int:
        """Return where the session stands: where the files change nothing, the same on both sides.

        Elsewhere the rules may have led it to another place.
        """
        if len(self.start_flags) == 1:
            return 0
        apart = side if self.flags_are_apart else 0
        question = Question("next_query_flagIN", tuple(self.start_flags), apart)
        for ids in self.start_flags.values():
            for rule_id in ids:
                guesses.answer(question, len(self.start_flags), rule_id)
        return list(self.start_flags)[guesses.answer(question, len(self.start_flags))]


class _Differences:
    """What differs between two sides, to see at a glance that a digest has nothing to do with it.

    What both sides share has the same place in both, since rules are sorted by rule_id: where no
    rule that differs may match, nothing can become of a query but what becomes of it now.
    """

    def __init__(self, sides: Sides, routers: tuple[Router, Router]) -> None:
        self._routers = routers
        before, after = (_rule_rows(side) for side in (sides.before, sides.after))
        self._variables_differ = routers[0].variables != routers[1].variables
        self._rules = tuple(
            tuple(rule for rule in router.rules if self._is_other(rule, before, after))
            for router in routers
        )
        self._finders = tuple(map(_Finder, self._rules))
        fast = [rows_by_key(side.tables.get(_FAST)) for side in (sides.before, sides.after)]
        self._fast_differ: frozenset[tuple[str, str]] = frozenset()
        if fast[0] is not fast[1]:
            keys = routers[0].fast_routing.items() ^ routers[1].fast_routing.items()
            self._fast_differ = frozenset(key[:2] for key, _ in keys)
        has_fast = any(len(router.fast_routing) for router in routers)
        self._shut_off_differs = (
            has_fast and routers[0].last_rule_applies != routers[1].last_rule_applies
        )

    @cached_property
    def _flag_rules(self) -> tuple[Rule, ...]:
        return tuple(r for side in self._routers for r in side.rules if _next_flag(r))

    def start_flags(self, username: str) -> dict[int, tuple[int, ...]]:
        """Return where a session of the user may stand when a query comes, and who puts it there.

        Shape: 0 comes first.
        """
        found: dict[int, tuple[int, ...]] = {0: ()}
        for rule in self._flag_rules:
            flag = _next_flag(rule)
            if flag and rule.username in (None, username):
                found[flag] = tuple(sorted({*found.get(flag, ()), rule.rule_id}))
        return found

    def may_concern_user(self, username: str) -> bool:
        """Return whether a rule that differs may match any query of a user."""
        if self._variables_differ:
            return True
        rules = (rule for side in self._rules for rule in side)
        return any(rule.username in (None, username) for rule in rules)

    @staticmethod
    def _is_other(
        rule: Rule, before: Mapping[Value, object], after: Mapping[Value, object]
    ) -> bool:
        return before.get(rule.rule_id) != after.get(rule.rule_id)

    def may_concern(self, asked: _Asked) -> bool:
        """Return whether anything that differs may decide about a digest."""
        seen, facts = asked.seen, asked.facts
        if self._variables_differ or self._shut_off_differs:
            return True
        if not self._routers[0].variables.query_digests:
            return True  # match_digest then lets everything pass
        if len(asked.start_flags) > 1 and asked.flags_are_apart:
            return True
        if facts.before != facts.after and any(self._asks_digests(r) for r in self._routers):
            return True
        before, after = self._routers
        if before.user(seen.username) != after.user(seen.username):
            return True
        if self._fast_differ and (
            (seen.username, seen.schemaname) in self._fast_differ
            or ("", seen.schemaname) in self._fast_differ
        ):
            return True
        sides = zip(self._finders, (facts.before, facts.after), strict=True)
        return any(
            self._may_match(rule, asked, known)
            for finder, known in sides
            for rule in finder.candidates(known, asked)
        )

    @staticmethod
    def _asks_digests(router: Router) -> bool:
        return any(r.match_digest is not None or r.digest is not None for r in router.rules)

    @staticmethod
    def _may_match(rule: Rule, asked: _Asked, known: Known) -> bool:
        seen = asked.seen
        if not rule_fits(rule, seen.username, seen.schemaname, asked.client_addr):
            return False
        if asked.rewriters or known.found is None:
            return True
        if rule.digest is not None and known.number != rule.digest:
            return False
        pattern = rule.match_digest
        if pattern is None or pattern in known.unsure:
            return True
        return (pattern in known.found) is not rule.negated


class _Finder:
    """Some rules, by the pattern without which they cannot match."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._all = tuple(rules)
        self._others: list[Rule] = []
        self._by_pattern: dict[Compiled, list[Rule]] = {}
        for rule in self._all:
            if rule.match_digest is None or rule.negated:
                self._others.append(rule)
            else:
                self._by_pattern.setdefault(rule.match_digest, []).append(rule)

    def candidates(self, known: Known, asked: _Asked) -> Iterator[Rule]:
        """Yield the rules that may match a text."""
        if asked.rewriters or known.found is None:
            yield from self._all
            return
        yield from self._others
        for patterns in (known.found, known.unsure):
            for pattern in patterns:
                yield from self._by_pattern.get(pattern, ())


def _next_flag(rule: Rule) -> int | None:
    value = dict(rule.sets).get("next_query_flagIN")
    return value if isinstance(value, int) else None


def _rule_rows(side: Configuration) -> dict[Value, object]:
    """Return the active rules by rule_id, without what decides nothing."""
    held = side.tables.get(_RULES)
    if held is None:
        return {}
    index = held.layout.index
    rule_id, active, comment = index["rule_id"], index["active"], index["comment"]
    return {
        row[rule_id]: (*row[:comment], *row[comment + 1 :])
        for row in held.rows.values()
        if row[active] == 1
    }
