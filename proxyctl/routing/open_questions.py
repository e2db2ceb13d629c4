"""A query of which only the digest is known: what a digest does not tell is taken every way.

A digest has no literals, no comments and no port. One evaluation takes one answer for each question
that is left open. The same question gets the same answer wherever it is asked, also in the other
router of a comparison. `every_outcome` evaluates until all answers were taken or are too many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from proxyctl.routing.regex import Broken
from proxyctl.routing.route import Digested, Request
from proxyctl.routing.walk import Walk

if TYPE_CHECKING:
    from proxyctl.routing.rule import Rule

Result = TypeVar("Result")

Rewriting = tuple[object, ...]
"""What was done to a text: the replacements, in order. Equal where the rules do the same."""


class Question(NamedTuple):
    """Something that a digest does not tell. `text`: what rewrote the query before it is asked."""

    column: str
    subject: object
    text: object = ()


class Answer(NamedTuple):
    """What is taken for the answer to a question: a number below `choices`."""

    value: int
    choices: int


class Way:
    """The answers of one evaluation, in the order of the questions, and the rules that asked."""

    def __init__(self, answers: dict[Question, Answer]) -> None:
        self.answers = answers
        self.rules: dict[Question, set[int]] = {}

    def answer(self, question: Question, choices: int, rule_id: int) -> int:
        """Return the answer to a question; the first of `choices` to one that is new.

        Changes: self.
        """
        self.rules.setdefault(question, set()).add(rule_id)
        return self.answers.setdefault(question, Answer(0, choices)).value


def every_outcome(
    run: Callable[[Way], Result], *, limit: int
) -> tuple[list[Result], dict[Question, set[int]]] | None:
    """Return what comes of every combination of answers, and which rules asked what.

    None if more than `limit` runs would be needed.
    """
    results: list[Result] = []
    rules: dict[Question, set[int]] = {}
    waiting: list[dict[Question, Answer]] = [{}]
    while waiting:
        given = waiting.pop()
        way = Way(dict(given))
        results.append(run(way))
        for question, ids in way.rules.items():
            rules.setdefault(question, set()).update(ids)
        asked = list(way.answers.items())
        # Each new question makes one more run, at least.
        if len(results) + len(waiting) + len(asked) - len(given) > limit:
            return None
        for place in range(len(given), len(asked)):
            question, answer = asked[place]
            before = dict(asked[:place])
            waiting += (
                {**before, question: answer._replace(value=value)}
                for value in range(1, answer.choices)
            )
    return results, rules


class DigestWalk(Walk):
    """An evaluation of a digest: a way has the answers that the digest does not give."""

    def __init__(
        self, request: Request, schemaname: str, digest: Digested | None, way: Way
    ) -> None:
        super().__init__(request, schemaname, digest)
        self.rewriting: Rewriting = ()
        self._way = way

    def guess(self, rule: Rule, column: str, subject: object) -> bool:
        """Return the answer that is taken; a pattern such as `.*` needs none."""
        if column == "match_pattern" and not rule.asks_the_query:
            return not isinstance(subject, Broken)
        text = self.rewriting if column == "match_pattern" else ()
        return bool(self._way.answer(Question(column, subject, text), 2, rule.rule_id))

    def draw(self, rule: Rule) -> int:
        """Return the flagOUT that is taken for the drawn one."""
        question = Question("flagOUT", (rule.rule_id, rule.ways), self.turns)
        return self._way.answer(question, len(rule.ways), rule.rule_id)

    def rewrite(self, rule: Rule) -> None:
        """Note that the text is another one from here on."""
        done = (rule.match_pattern, rule.replacement, rule.is_global)
        self.rewriting = (*self.rewriting, done)

    def begins(self) -> tuple[int, object]:
        """Return what a turn depends on."""
        return self.flag, self.rewriting
