"""One query on its way along the rules, and which of the rules are tried at all.

Rules with one flagIN are a lane. A rule in it is found through its most telling criterion: its
digest number, or its pattern in a set that RE2 tests at once, or its session. What is found is then
tried as ProxySQL would; a rule that is not found cannot match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from proxyctl.routing.regex import Broken, Compiled, Engine
from proxyctl.routing.route import (
    NO_SETTINGS,
    Digested,
    FastRoutingUse,
    Loop,
    Reason,
    Request,
    Route,
    Settings,
    Source,
    Step,
)
from proxyctl.routing.rule import Rule
from proxyctl.routing.special import Special
from proxyctl.routing.tables import FastKey, Frontend

if TYPE_CHECKING:
    from proxyctl.routing.regex.re2 import Prefilter

Choose = Callable[[Sequence[int]], int]
"""Returns which of the weights is drawn, by its place."""

MAX_TEXT = 64 << 20
"""A query beyond mysql-max_allowed_packet's default is not rewritten any further."""

MAX_GLOBAL_TEXT = 2 << 20
"""Nor is one beyond this by a rule with GLOBAL, which may match at each byte."""

MAX_TURNS = 1_000
"""So often rules are evaluated again as long as that goes on to change the query."""


def heaviest(weights: Sequence[int]) -> int:
    """Draw the way that most queries take; the first of equals."""
    return max(range(len(weights)), key=weights.__getitem__)


class Walk:
    """The state of an evaluation, changed rule by rule."""

    def __init__(
        self,
        request: Request,
        schemaname: str,
        digest: Digested | None,
        choose: Choose = heaviest,
    ) -> None:
        self.request = request
        self.schemaname = schemaname
        self.digest = digest
        self.choose = choose
        self.text = request.query
        """The query as the rules so far have rewritten it; None if it is not known."""
        self.flag = request.flagIN
        self.position = -1
        """The rule that matched last; the search goes on behind it."""
        self.matched: list[int] = []
        self.sets: dict[str, int | str] = {}
        self.destination: int | None = None
        self.source = Source.RULE
        self.decided_by: int | None = None
        self.fast_routing = FastRoutingUse.NO_ROW
        self.fast_key: FastKey | None = None
        self.applied = False
        self.hinted: Settings = NO_SETTINGS
        """What hints in the first comment said."""
        self.drawn: list[int] = []
        self.turns_left = 0
        self.turns = 0
        self.seen: dict[tuple[int, object], tuple[int, int]] | None = None
        """Each turn by what it began with, and how many rules had matched; None: not asked."""
        self.loop: Loop | None = None
        self.undecided: list[int] = []
        self.trace: list[Step] | None = None
        """A step for each rule that is looked at; None: not asked, and few rules are."""

    def follow(self, rules: Sequence[Rule], lanes: Mapping[int, Lane], iterations: int) -> None:
        """Try rules until one applies or none is left.

        `iterations`: how often a flagOUT may lead back to the first rule.
        """
        self.turns_left = iterations
        if iterations:
            self.seen = {self.begins(): (0, 0)}
        while self._follow_until_a_change(rules, lanes):
            pass

    def _follow_until_a_change(self, rules: Sequence[Rule], lanes: Mapping[int, Lane]) -> bool:
        """Return whether to look for candidates again: a match changed what they depend on."""
        candidates: Sequence[Rule]
        if self.trace is None:
            lane = lanes.get(self.flag)
            if lane is None:
                return False
            candidates = lane.candidates(self)
        else:
            candidates = rules[self.position + 1 :]
        for rule in candidates:
            flag, text = self.flag, self.text
            reason = rule.miss(self)
            if reason is not None:
                if self.trace is not None:
                    self.trace.append(_missed(rule, reason, flag))
                continue
            self._take(rule, flag)
            if self.applied:
                return False
            if self.flag != flag or self.text is not text or self.position < rule.position:
                return True
        return False

    def guess(self, rule: Rule, column: str, subject: object) -> bool | None:
        """Return what to assume of a criterion that cannot be told; None: that is not done.

        `subject`: what is asked, so that two rules with the same question get one answer.
        """
        del rule, column, subject
        return None

    def begins(self) -> tuple[int, object]:
        """Return what a turn depends on: where the query stands, and its text."""
        return self.flag, self.text

    def _take(self, rule: Rule, flag: int) -> None:
        """Let a rule that matched do what it does, in ProxySQL's order."""
        self.position = rule.position
        self.matched.append(rule.rule_id)
        jumped = self._jump(rule)
        if rule.sets:
            self.sets.update(rule.sets)
        if rule.destination is not None:
            self.destination, self.source = rule.destination, Source.RULE
            self.decided_by = rule.rule_id
        if rule.replacement is not None and self.request.rewrites:
            self.rewrite(rule)
        self.applied = rule.apply
        again = jumped and not rule.apply and self.turns_left > 0
        if self.trace is not None:
            self.trace.append(self._matched(rule, flag, again=again))
        if again:
            self._start_again(rule)

    def _jump(self, rule: Rule) -> bool:
        if rule.ways:
            place = self.draw(rule)
            self.flag = rule.ways[place].flag
            if len(rule.ways) > 1:
                self.drawn.append(rule.rule_id)
                self.seen = None
            return True
        if rule.flag_out is None:
            return False
        self.flag = rule.flag_out
        return True

    def draw(self, rule: Rule) -> int:
        """Return the place of the flagOUT that a rule with several of them takes."""
        return self.choose([way.weight for way in rule.ways])

    def rewrite(self, rule: Rule) -> None:
        """Let a rule that matched rewrite the text."""
        text = self.text or b""
        is_too_long = len(text) > (MAX_GLOBAL_TEXT if rule.is_global else MAX_TEXT)
        rewritten = None if is_too_long else rule.rewritten(text)
        if rewritten is None:
            self.undecided.append(rule.rule_id)
        else:
            self.text = rewritten

    def _start_again(self, rule: Rule) -> None:
        """Go back to the first rule, as mysql-query_processor_iterations allows.

        A turn that begins as an earlier one did goes the same way, so turns of such a loop are
        skipped, but for the last ones: where they end is where the search goes on.
        """
        self.turns_left -= 1
        self.turns += 1
        self.position = -1
        if self.turns > MAX_TURNS:
            self.turns_left = 0
            self.undecided.append(rule.rule_id)
        if self.seen is None:
            return
        begins = self.begins()
        if begins not in self.seen:
            self.seen[begins] = (self.turns, len(self.matched))
            return
        turn, matched = self.seen[begins]
        skipped = self.turns_left - self.turns_left % (self.turns - turn)
        self.loop = Loop(tuple(self.matched[matched:]), skipped // (self.turns - turn))
        self.turns_left -= skipped
        self.seen = None

    def _matched(self, rule: Rule, flag: int, *, again: bool) -> Step:
        sets = dict(rule.sets)
        if rule.destination is not None:
            sets["destination_hostgroup"] = rule.destination
        rewrites = rule.replacement is not None and self.request.rewrites
        return Step(
            rule_id=rule.rule_id,
            reason=None,
            flag=flag,
            broken=rule.broken,
            unverified=rule.unverified,
            sets=sets,
            flag_after=self.flag,
            rewritten=self.text if rewrites else None,
            applied=rule.apply,
            started_again=again,
        )

    def steps(self, rules: Sequence[Rule]) -> list[Step]:
        """Return the trace, and behind a rule with apply those that were not reached."""
        left = rules[self.position + 1 :] if self.applied else ()
        behind = [_missed(rule, Reason.NOT_REACHED, self.flag) for rule in left]
        return [*(self.trace or ()), *behind]

    def take_hints(self, hinted: Mapping[str, int | str]) -> None:
        """Let hints win over rules and fast routing; a negative number unsets something."""
        self.hinted = {**self.hinted, **hinted}
        if "destination_hostgroup" in hinted:
            self.destination, self.source = int(hinted["destination_hostgroup"]), Source.HINT
        merged = {**self.sets, **hinted}
        merged.pop("destination_hostgroup", None)
        self.sets = {
            name: value
            for name, value in merged.items()
            if not isinstance(value, int) or value >= 0
        }

    def use_default_hostgroup(self, user: Frontend | None) -> None:
        """Go to the default_hostgroup of the user."""
        self.destination = None if user is None else user.default_hostgroup
        self.source = Source.NOTHING if user is None else Source.DEFAULT_HOSTGROUP

    def route(
        self, rewritten: bytes | None, final: Digested | None, special: Special | None
    ) -> Route:
        """Return what became of the query, which is `rewritten` and counted as `final`."""
        return Route(
            destination_hostgroup=self.destination,
            source=self.source,
            rule_id=self.decided_by if self.source is Source.RULE else None,
            matched_rules=tuple(self.matched),
            settings=self.sets,
            rewritten_query=rewritten,
            digest=self.digest,
            final_digest=final,
            flagIN=self.flag,
            special=special,
            undecided=tuple(dict.fromkeys(self.undecided)),
            drawn=tuple(self.drawn),
            loop=self.loop,
        )


def _missed(rule: Rule, reason: Reason, flag: int) -> Step:
    return Step(rule.rule_id, reason, flag, rule.broken, rule.unverified, {}, flag)


# Which rules are tried ---------------------------------------------------------------------------

_BY_POSITION = attrgetter("position")

Caller = tuple[str | None, str | None]
"""username and schemaname that a rule asks for."""


class Lane:
    """Rules with the same flagIN, in their order."""

    def __init__(self, rules: Sequence[Rule], engine: Engine, *, with_digests: bool) -> None:
        self._by_digest: dict[int, list[Rule]] = {}
        self._by_caller: dict[Caller, list[Rule]] = {}
        by_digest_text: dict[Compiled, list[Rule]] = {}
        by_query: dict[Compiled, list[Rule]] = {}
        for rule in rules:
            patterns = [(rule.match_digest, by_digest_text)] if with_digests else []
            asked = [(p, by) for p, by in (*patterns, (rule.match_pattern, by_query)) if p]
            if with_digests and rule.digest is not None:
                self._by_digest.setdefault(rule.digest, []).append(rule)
            elif asked and not rule.negated:
                pattern, by_pattern = asked[0]
                by_pattern.setdefault(pattern, []).append(rule)
            else:
                self._always(rule)
        self._digest_texts = _Finder(by_digest_text, engine, self)
        self._queries = _Finder(by_query, engine, self)
        self._asks_everybody = set(self._by_caller) <= {(None, None)}

    def _always(self, rule: Rule) -> None:
        self._by_caller.setdefault((rule.username, rule.schemaname), []).append(rule)

    def add_unfound(self, rules: Iterable[Rule]) -> None:
        """Take rules whose pattern RE2 cannot look for."""
        for rule in rules:
            self._always(rule)

    def candidates(self, walk: Walk) -> list[Rule]:
        """Return the rules behind the walk's position that may match, in order."""
        found: list[Rule] = []
        for caller in self._callers(walk):
            found += self._by_caller.get(caller, ())
        if walk.digest is not None:
            found += self._by_digest.get(walk.digest.number, ())
            self._digest_texts.find(walk.digest.text, found)
        self._queries.find(walk.text, found)
        after = walk.position
        if after >= 0:
            found = [rule for rule in found if rule.position > after]
        if len(found) > 1:
            found.sort(key=_BY_POSITION)
        return found

    def _callers(self, walk: Walk) -> Iterable[Caller]:
        if self._asks_everybody:
            return ((None, None),)
        username, schemaname = walk.request.username, walk.schemaname
        return {(None, None), (username, None), (None, schemaname), (username, schemaname)}


class _Finder:
    """Rules by the pattern they ask for."""

    def __init__(self, by_pattern: dict[Compiled, list[Rule]], engine: Engine, lane: Lane) -> None:
        patterns = [pattern for pattern in by_pattern if not isinstance(pattern, Broken)]
        self._rules = [by_pattern[pattern] for pattern in patterns]
        self._prefilter: Prefilter | None = None
        if not patterns:
            return
        # Only here, since it brings RE2 along, and most commands need no patterns.
        from proxyctl.routing.regex.re2 import Prefilter

        self._prefilter = Prefilter(patterns, latin1=engine is not Engine.RE2)
        for place in self._prefilter.unfiltered:
            lane.add_unfound(self._rules[place])

    def find(self, subject: bytes | None, found: list[Rule]) -> None:
        """Add the rules whose pattern may match. Changes: found."""
        if self._prefilter is None:
            return
        if subject is None:
            for rules in self._rules:
                found += rules
            return
        for place in self._prefilter.may_match(subject):
            found += self._rules[place]
