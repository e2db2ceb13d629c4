"""A query of which only the digest is known: every way that what cannot be told may fall.

One run takes one answer for each open question; the same question gets the same answer wherever it
is asked, also in another router. `every_way` runs until all answers were tried, or too many are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from proxyctl.routing.chance import heaviest
from proxyctl.routing.request import Digested, Request
from proxyctl.routing.walk import Walk

if TYPE_CHECKING:
    from proxyctl.regex import Compiled
    from proxyctl.routing.lane import Lane
    from proxyctl.routing.rule import Rule

Result = TypeVar("Result")

Rewriting = tuple[object, ...]
"""What was done to a text: the replacements, in order. Equal where the rules do the same."""


class Question(NamedTuple):
    """Something that cannot be told. `text` is which text is asked about: what rewrote it."""

    column: str
    subject: object
    text: object = ()


class Answer(NamedTuple):
    """What is taken for the answer to a question: a number below `choices`."""

    question: Question
    value: int
    choices: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a query.

    `request` has no query; its client_addr is None where that is not known. `found` are the
    patterns that match its digest text, None if the text is not known; `unsure` those that may.
    `source` tells digest texts apart: questions about different ones are different questions.
    """

    request: Request
    found: frozenset[Compiled] | None
    unsure: frozenset[Compiled] = frozenset()
    is_number_known: bool = True
    source: object = ()

    @property
    def patterns(self) -> Collection[Compiled] | None:
        """The patterns that match the digest text, or may; None: any may."""
        if self.found is None:
            return None
        return self.found | self.unsure if self.unsure else self.found


class TooManyQuestions(Exception):  # noqa: N818 - an answer, as Stopped is
    """More is asked in one run than may be."""


class Guesses:
    """The answers of one run, in the order of the questions."""

    def __init__(self, script: Sequence[Answer] = (), *, limit: int | None = None) -> None:
        """Begin with these answers. `limit`: so many questions may be asked."""
        self.asked: list[Answer] = list(script)
        self.rules: dict[Question, set[int]] = {}
        """The rules that asked."""
        self._limit = limit
        self._known = {answer.question: answer.value for answer in script}

    def answer(self, question: Question, choices: int, rule_id: int | None = None) -> int:
        """Return the answer to a question; the first of `choices` to one that is new.

        Raises: TooManyQuestions.
        """
        if rule_id is not None:
            self.rules.setdefault(question, set()).add(rule_id)
        if question not in self._known:
            self._known[question] = 0
            self.asked.append(Answer(question, 0, choices))
            if self._limit is not None and len(self.asked) > self._limit:
                raise TooManyQuestions
        return self._known[question]


def every_way(
    run: Callable[[Guesses], Result], *, limit: int
) -> tuple[list[Result], dict[Question, set[int]]] | None:
    """Return what comes of every combination of answers, and who asked what.

    None if more than `limit` runs would be needed.
    """
    results: list[Result] = []
    rules: dict[Question, set[int]] = {}
    scripts: list[tuple[Answer, ...]] = [()]
    while scripts:
        script = scripts.pop()
        # Each question makes one more run, at least.
        guesses = Guesses(script, limit=limit)
        try:
            results.append(run(guesses))
        except TooManyQuestions:
            return None
        for question, ids in guesses.rules.items():
            rules.setdefault(question, set()).update(ids)
        asked = tuple(guesses.asked)
        for place in range(len(script), len(asked)):
            answer = asked[place]
            scripts += (
                (*asked[:place], answer._replace(value=value)) for value in range(1, answer.choices)
            )
        if len(results) + len(scripts) > limit:
            return None
    return results, rules


class GuessingWalk(Walk):
    """An evaluation that takes an answer where it cannot tell."""

    is_guessing = True

    def __init__(
        self,
        facts: Facts,
        guesses: Guesses,
        *,
        schemaname: str,
        digest: Digested | None,
        iterations: int,
    ) -> None:
        super().__init__(
            facts.request,
            schemaname=schemaname,
            digest=digest,
            choose=heaviest,
            iterations=iterations,
            is_traced=False,
        )
        self.rewriting: Rewriting = ()
        self.is_digest_known = facts.is_number_known
        self._facts = facts
        self._guesses = guesses
        if self.seen is not None:
            self.seen = {self.begins(): (0, 0)}

    def candidates(self, lane: Lane) -> Sequence[Rule]:
        """Return the rules of a lane that may match, in order."""
        return lane.possible(self, self._facts.patterns)

    def guess(self, rule: Rule, column: str, subject: object) -> bool | None:
        """Return the answer that is taken."""
        text: object = ()
        if column == "match_pattern":
            text = self.rewriting
        elif column in ("digest", "match_digest"):
            text = self._facts.source
        question = Question(column, subject, text)
        return bool(self._guesses.answer(question, 2, rule.rule_id))

    def is_in_digest(self, rule: Rule, pattern: Compiled, text: bytes) -> bool:  # noqa: ARG002
        """Return whether match_digest matches, as far as that is known; else what is taken."""
        facts = self._facts
        if facts.found is not None:
            if pattern in facts.found:
                return True
            if pattern not in facts.unsure:
                return False
        return bool(self.guess(rule, "match_digest", pattern))

    def draw(self, rule: Rule) -> int:
        """Return the flagOUT that is taken for the drawn one."""
        question = Question("flagOUT", (rule.rule_id, rule.ways), self.turns)
        return self._guesses.answer(question, len(rule.ways), rule.rule_id)

    def rewrite(self, rule: Rule) -> None:
        """Note that the text is another one from here on."""
        done = (rule.match_pattern, rule.replacement, rule.is_global)
        self.rewriting = (*self.rewriting, done)

    def begins(self) -> tuple[int, object]:
        """Return what a turn depends on."""
        return self.flag, self.rewriting
