"""Evaluate a query that is not fully known, with every answer to its open questions.

A digest has no literals, no comments and no port; a logged query has no port. One evaluation
assumes one answer to each open question. The same question gets the same answer everywhere, also in
the other router of a comparison. `every_outcome` evaluates until it has tried all answers, or would
need too many runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from proxyctl.routing.query import ClientQuery, Digested
from proxyctl.routing.regex import Broken
from proxyctl.routing.walk import Walk

if TYPE_CHECKING:
    from proxyctl.routing.rule import Rule

ResultT = TypeVar("ResultT")

Rewriting = tuple[object, ...]
"""The replacements that rules made in an unknown text, in order; of a known text, what it became.
Equal if rules do the same."""


class Question(NamedTuple):
    """A question that a digest leaves open."""

    column: str
    subject: object
    text: object = ()
    """The rewriting of the query before the question."""


class Assumption(NamedTuple):
    """The assumed answer to a question: a number below `choices`."""

    value: int
    choices: int


class Assumptions:
    """The answers of one evaluation, in the order of the questions, and the rules that asked."""

    def __init__(self, answers: dict[Question, Assumption]) -> None:
        self.answers = answers
        self.rules: dict[Question, set[int]] = {}

    def answer(self, question: Question, choices: int, rule_id: int) -> int:
        """Return the answer to a question; 0, the first choice, to a new question.

        Changes: self.
        """
        self.rules.setdefault(question, set()).add(rule_id)
        return self.answers.setdefault(question, Assumption(0, choices)).value


def every_outcome(
    run: Callable[[Assumptions], ResultT], *, limit: int
) -> tuple[list[ResultT], dict[Question, set[int]]] | None:
    """Return the result of every combination of answers, and the rules that asked each question.

    None if that would need more than `limit` runs.
    """
    results: list[ResultT] = []
    rules: dict[Question, set[int]] = {}
    waiting: list[dict[Question, Assumption]] = [{}]
    while waiting:
        known = waiting.pop()
        assumptions = Assumptions(dict(known))
        results.append(run(assumptions))
        for question, ids in assumptions.rules.items():
            rules.setdefault(question, set()).update(ids)
        asked = list(assumptions.answers.items())
        # Each new question needs at least one more run.
        if len(results) + len(waiting) + len(asked) - len(known) > limit:
            return None
        for place in range(len(known), len(asked)):
            question, answer = asked[place]
            before = dict(asked[:place])
            waiting += (
                {**before, question: answer._replace(value=value)}
                for value in range(1, answer.choices)
            )
    return results, rules


class DigestWalk(Walk):
    """The evaluation of a digest or a logged query, with assumed answers to its open questions."""

    def __init__(
        self,
        request: ClientQuery,
        schemaname: str,
        digest: Digested | None,
        assumptions: Assumptions,
    ) -> None:
        super().__init__(request, schemaname, digest)
        self.rewriting: Rewriting = ()
        self._assumptions = assumptions

    def guess(self, rule: Rule, column: str, subject: object) -> bool:
        """Return the assumed answer; a pattern such as `.*` needs no assumption."""
        if column == "match_pattern" and not rule.asks_the_query:
            return not isinstance(subject, Broken)
        text = self.rewriting if column == "match_pattern" else ()
        return bool(self._assumptions.answer(Question(column, subject, text), 2, rule.rule_id))

    def draw(self, rule: Rule) -> int:
        """Return the place of the flagOUT that is assumed to be drawn."""
        question = Question("flagOUT", (rule.rule_id, rule.weighted_flags), self.turns)
        return self._assumptions.answer(question, len(rule.weighted_flags), rule.rule_id)

    def rewrite(self, rule: Rule) -> None:
        """Rewrite a known text; of an unknown one, note the replacement that changes it."""
        if self.text is not None:
            super().rewrite(rule)
            self.rewriting = () if self.text == self.request.query else (self.text,)
            return
        replacement = (rule.match_pattern, rule.replacement, rule.is_global)
        self.rewriting = (*self.rewriting, replacement)

    def begins(self) -> tuple[int, object]:
        """Return the state that a turn depends on."""
        return self.flag, self.rewriting
