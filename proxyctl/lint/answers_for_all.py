"""Whether queries that no rule knows get an answer from ProxySQL itself: a catch-all that blocks.

Not a check of its own: a maintenance page is meant. A plan asks whether it comes unasked.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from proxyctl.catalog import Layout, Value
from proxyctl.configuration import Configuration
from proxyctl.lint.rule_cover import Covers
from proxyctl.lint.subject import RULES, Subject
from proxyctl.routing.rule import Rule
from proxyctl.state import Rows

ANSWERS = ("error_msg", "OK_msg")


class AnswerForAll(NamedTuple):
    """The rule that answers every query which meets no other one, and the column that does it.

    `exempt` are rules in front of it that may take queries elsewhere.
    """

    rule_id: int
    column: str
    exempt: tuple[int, ...]


def new_answer_for_all(before: Configuration, after: Configuration) -> str | None:
    """Return what to say of a catch-all that blocks more than one before did; None if none does."""
    if not _may_block(after):
        return None
    found, known = answer_for_all(Subject(after)), answer_for_all(Subject(before))
    if found is None or (known is not None and bool(known.exempt) <= bool(found.exempt)):
        return None
    left = (
        f"only queries that an earlier rule takes ({_listed(found.exempt)}) would reach a server"
        if found.exempt
        else "no query would reach a server"
    )
    return f"rule {found.rule_id} matches every query and answers it with {found.column}: {left}"


def rows_that_answer(layout: Layout, rows: Rows) -> Rows:
    """Return the rules that answer queries themselves."""
    positions = [layout.index[name] for name in ANSWERS]
    return {
        key: row
        for key, row in rows.items()
        if any(row[position] is not None for position in positions)
    }


def _may_block(configuration: Configuration) -> bool:
    """Return whether a rule that answers matches everything, wherever it stands.

    Mostly none does, and then the others, which may be thousands, need not be compiled.
    """
    held = configuration.tables.get(RULES)
    if held is None:
        return False
    rows = rows_that_answer(held.layout, held.rows)
    if not rows:
        return False
    subject = Subject(replace(configuration, tables={RULES: replace(held, rows=rows)}))
    judge, any_query = Covers(subject), _any_query(subject)
    return any(_matches_all(rule, subject, judge, any_query) for rule in subject.rules)


_MOST_LISTED = 5


def _listed(rule_ids: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, rule_ids[:_MOST_LISTED]))
    return shown + (" ..." if len(rule_ids) > _MOST_LISTED else "")


def answer_for_all(subject: Subject) -> AnswerForAll | None:
    """Return what answers every query that the rules with criteria leave, as far as it is proven.

    The way of such a query is followed from flagIN 0 through the rules that match everything.
    """
    judge, any_query = Covers(subject), _any_query(subject)
    flag, exempt = 0, []
    for rule in subject.rules:
        if rule.flag_in != flag:
            continue
        if not _matches_all(rule, subject, judge, any_query):
            if rule.apply or rule.flag_out is not None or rule.ways:
                exempt.append(rule.rule_id)
            continue
        answers = [name for name, _ in rule.sets if name in ANSWERS]
        if answers:
            # Whatever matches behind it: the answer stays.
            return AnswerForAll(rule.rule_id, answers[0], tuple(exempt))
        if rule.apply or rule.ways:
            return None
        if rule.flag_out is not None:
            flag = rule.flag_out
    return None


def _any_query(subject: Subject) -> Rule:
    """Return a rule that matches every query: none is empty, and a digest begins with no blank."""
    cells: dict[str, Value] = {"match_digest": r"^\S", "match_pattern": r"\S"}
    return Rule(cells, 0, subject.router.patterns)


def _matches_all(rule: Rule, subject: Subject, judge: Covers, any_query: Rule) -> bool:
    if subject.variables.query_digests:
        return _matches_probes(rule) and judge.covers(rule, any_query)
    # Without digests ProxySQL does not ask match_digest.
    asks = rule.digest is not None or rule.match_pattern is not None
    return not (asks or rule.is_for_some_sessions)


_PROBES = (b"q", b"(")
"""Texts that a pattern for everything matches. Asking is quicker than a proof."""


def _matches_probes(rule: Rule) -> bool:
    patterns = [p for p in (rule.match_digest, rule.match_pattern) if p is not None]
    return rule.negated or all(p.matches(probe) for p in patterns for probe in _PROBES)
