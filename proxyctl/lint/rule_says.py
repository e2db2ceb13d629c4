"""Which rules have a say in where queries go, one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum

from proxyctl.lint.answers_to_samples import READS, WRITES
from proxyctl.lint.effects_samples import samples
from proxyctl.lint.reach_shadowed import rules_never_tried, rules_without_say
from proxyctl.lint.rule_reach import reach_of
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sessions import session_for
from proxyctl.regex import Compiled
from proxyctl.routing import Source
from proxyctl.routing.rule import Rule

_TEXTS = 5


class Say(Enum):
    """What the destination of a rule counts for."""

    NEVER_TRIED = "no query gets to the rule"
    OVERRULED = "a later rule sends every query of it elsewhere"
    PERHAPS = "later rules may send every query of it elsewhere"
    DECIDES = "queries go there"


def says_of(subject: Subject, rule_ids: Collection[int]) -> Mapping[int, Say]:
    """Return what the destinations of these rules count for.

    The first two are said only where they are proven, PERHAPS where neither a proof nor an example
    is found. Raises: as `Subject.router`.
    """
    never, without = rules_never_tried(subject), rules_without_say(subject)
    tried = [rule for rule in subject.rules if rule.rule_id not in never]
    # A lane is not reached either where only such a rule leads to it.
    again = subject.variables.query_processor_iterations > 0
    tried_ids = reach_of(tried, starts_again=again).reached
    deciding = [rule for rule in tried if rule.rule_id in tried_ids and _decides(rule)]
    found: dict[int, Say] = {}
    for rule in subject.rules:
        if rule.rule_id not in rule_ids:
            continue
        if rule.rule_id not in tried_ids:
            found[rule.rule_id] = Say.NEVER_TRIED
        elif rule.rule_id in without:
            found[rule.rule_id] = Say.OVERRULED
        elif _is_last_word(rule, deciding, starts_again=again) or _has_example(subject, rule):
            found[rule.rule_id] = Say.DECIDES
        else:
            found[rule.rule_id] = Say.PERHAPS
    return found


def _decides(rule: Rule) -> bool:
    return rule.destination is not None or bool(
        {"OK_msg", "error_msg"}.intersection(dict(rule.sets))
    )


def _is_last_word(rule: Rule, deciding: Collection[Rule], *, starts_again: bool) -> bool:
    """Return whether no rule comes behind this one that could overrule it."""
    if rule.apply:
        return True
    others = (other for other in deciding if other is not rule)
    return not any(starts_again or other.position > rule.position for other in others)


def _has_example(subject: Subject, rule: Rule) -> bool:
    """Return whether some query is known to go where this rule sends it."""
    session = session_for(rule, None)
    for query in dict.fromkeys(_queries(subject, rule)):
        route = subject.router.evaluate(session.request(query))
        is_by_rule = route.source is Source.RULE and route.rule_id == rule.rule_id
        if is_by_rule and not route.is_answered and not route.undecided:
            return True
    return False


def _queries(subject: Subject, rule: Rule) -> Iterator[str]:
    texts = subject.once(_texts)
    for pattern in (rule.match_digest, rule.match_pattern):
        if pattern is not None and not rule.negated:
            yield from samples(texts[pattern], limit=_TEXTS)
            yield from samples(texts[pattern], limit=_TEXTS, fill=" c ")
    yield from READS
    yield from WRITES


def _texts(subject: Subject) -> dict[Compiled, str]:
    """Return the patterns of the rules as they are written."""
    found = subject.router.patterns.texts()
    return {made: text.decode("utf-8", "surrogateescape") for made, text in found.items()}
