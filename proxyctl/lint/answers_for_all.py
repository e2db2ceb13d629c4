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
EVERY_QUERY = "every query"


class AnswerForAll(NamedTuple):
    """The rule that answers every query which meets no other one, and the column that does it.

    `queries`: which ones, in words. `exempt` are rules in front of it that may take queries
    elsewhere.
    """

    rule_id: int
    column: str
    queries: str
    exempt: tuple[int, ...]

    def leaves(self) -> int:
        """Return how much is left through: 0 nothing, 1 what begins with no letter, 2 more."""
        return 2 if self.exempt else int(self.queries != EVERY_QUERY)


def new_answer_for_all(before: Configuration, after: Configuration) -> str | None:
    """Return what to say of a catch-all that blocks more than one before did; None if none does."""
    if not _may_block(after):
        return None
    found, known = answer_for_all(Subject(after)), answer_for_all(Subject(before))
    if found is None or (known is not None and known.leaves() <= found.leaves()):
        return None
    left = (
        f"only queries that an earlier rule takes ({listed(found.exempt)}) would reach a server"
        if found.exempt
        else f"no{'' if found.queries == EVERY_QUERY else ' such'} query would reach a server"
    )
    return (
        f"rule {found.rule_id} matches {found.queries} and answers it with {found.column}: {left}"
    )


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
    judge, queries = Covers(subject), _all_queries(subject)
    return any(_matched(rule, subject, judge, queries) for rule in subject.rules)


_MOST_LISTED = 5


def listed(rule_ids: tuple[int, ...]) -> str:
    """Return the first of some rules in words."""
    shown = ", ".join(map(str, rule_ids[:_MOST_LISTED]))
    return shown + (" ..." if len(rule_ids) > _MOST_LISTED else "")


def answer_for_all(subject: Subject) -> AnswerForAll | None:
    """Return what answers every query that the rules with criteria leave, as far as it is proven.

    The way of such a query is followed from flagIN 0 through the rules that match everything.
    """
    judge, queries = Covers(subject), _all_queries(subject)
    flag, exempt, left = 0, [], EVERY_QUERY
    for rule in subject.rules:
        if rule.flag_in != flag:
            continue
        matched = _matched(rule, subject, judge, queries)
        if matched is None:
            if rule.apply or rule.flag_out is not None or rule.ways:
                exempt.append(rule.rule_id)
            continue
        answers = [name for name, _ in rule.sets if name in ANSWERS]
        if answers:
            # Whatever matches behind it: the answer stays.
            words = matched if matched != EVERY_QUERY else left
            return AnswerForAll(rule.rule_id, answers[0], words, tuple(exempt))
        if rule.apply or rule.ways:
            return None
        if rule.flag_out is not None:
            flag = rule.flag_out
        if matched != EVERY_QUERY:
            left = matched
    return None


class _Queries(NamedTuple):
    """Some queries in words, and a rule that matches each of them and nothing else."""

    words: str
    rule: Rule


def matches_every_query(rule: Rule, subject: Subject) -> bool:
    """Return whether a rule is known to match every query of the user that it is for."""
    if not subject.variables.query_digests:
        return rule.digest is None and rule.match_pattern is None
    judge, queries = Covers(subject), _all_queries(subject, rule.username)
    every = [some.rule for some in queries if some.words == EVERY_QUERY]
    return _matches_probes(rule) and any(judge.covers(rule, one) for one in every)


def _all_queries(subject: Subject, username: str | None = None) -> tuple[_Queries, ...]:
    """Return what has to be matched to block everything; each by itself is enough.

    `username`: whose queries, everybody's if there is none.

    No query is empty, no digest begins with a blank, and there is none without a letter. Those that
    do not begin with one begin with a bracket: what leaves only them leaves nothing that matters.
    """

    def queries(words: str, digest: str, text: str) -> _Queries:
        cells: dict[str, Value] = {"match_digest": digest, "match_pattern": text}
        cells["username"] = username
        return _Queries(words, Rule(cells, 0, subject.router.patterns))

    return (
        queries(EVERY_QUERY, r"^\S", r"\S"),
        queries(EVERY_QUERY, "[A-Za-z]", "[A-Za-z]"),
        queries(f"{EVERY_QUERY} that begins with a letter", "^[A-Za-z]", "^[A-Za-z]"),
    )


def _matched(
    rule: Rule, subject: Subject, judge: Covers, queries: tuple[_Queries, ...]
) -> str | None:
    """Return in words all the queries that a rule matches; None if some are left that matter."""
    if not subject.variables.query_digests:
        # Without digests ProxySQL does not ask match_digest.
        asks = rule.digest is not None or rule.match_pattern is not None
        return None if asks or rule.is_for_some_sessions else EVERY_QUERY
    if not _matches_probes(rule):
        return None
    return next((some.words for some in queries if judge.covers(rule, some.rule)), None)


_PROBES = (b"q", b"Q")
"""Texts that a pattern for everything matches. Asking is quicker than a proof."""


def _matches_probes(rule: Rule) -> bool:
    patterns = [p for p in (rule.match_digest, rule.match_pattern) if p is not None]
    return rule.negated or all(p.matches(probe) for p in patterns for probe in _PROBES)
