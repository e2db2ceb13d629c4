"""Which rules have a say in where queries go, one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum

from proxyctl.lint.reach_shadowed import rules_never_tried, rules_without_say
from proxyctl.lint.rule_reach import reach_of
from proxyctl.lint.rules_in_play import in_play, patterns_match, queries_of
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sessions import session_for
from proxyctl.routing import Source
from proxyctl.routing.rule import Rule

_ENOUGH = 100
"""Rules to one hostgroup. Where queries of one of these end there, the others make it no worse."""
_MOST_USERS = 5
"""Users that a rule for everybody is tried with."""
_MANY = 500
"""Rules to one hostgroup that are looked at where some of the first may have a say, at most."""


class Say(Enum):
    """What the destination of a rule counts for."""

    NEVER_TRIED = "no query gets to the rule, or none matches"
    COPIES = "only copies that other rules make get to the rule"
    OVERRULED = "a later rule sends every query of it elsewhere"
    PERHAPS = "other rules may send every query of it elsewhere, or answer it"
    DECIDES = "queries go there"
    NOT_LOOKED_AT = "others decide for the same hostgroup"


def says_of_senders(
    subject: Subject,
    senders: Mapping[int, Sequence[int]],
    usernames: Collection[str] | None = None,
) -> Mapping[int, Say]:
    """Return what the destinations of rules count for, of very many only as far as it matters.

    Shape: `senders` has the rules by the hostgroup that is asked about. `usernames`: as for
    `says_of`. Raises: as `says_of`.
    """
    first = {one for ids in senders.values() for one in ids[:_ENOUGH]}
    found = dict(says_of(subject, first, usernames)) if first else {}
    rest: set[int] = set()
    for ids in senders.values():
        says = {found.get(one) for one in ids[:_ENOUGH]}
        if Say.DECIDES not in says:
            rest |= {*ids[_ENOUGH : _MANY if Say.PERHAPS in says else None]}
    if rest:
        found |= says_of(subject, rest - first, usernames)
    others = dict.fromkeys((one for ids in senders.values() for one in ids), Say.NOT_LOOKED_AT)
    return others | found


def says_of(
    subject: Subject, rule_ids: Collection[int], usernames: Collection[str] | None = None
) -> Mapping[int, Say]:
    """Return what the destinations of these rules count for.

    The first three are said only where they are proven, PERHAPS where there is neither a proof nor
    an example. `usernames`: who may send queries, None where that is not known.
    Raises: as `Subject.router`.
    """
    subject = Subject(in_play(subject.configuration, rule_ids))
    rows = {row.rule.rule_id: row for row in subject.rule_rows if row.rule is not None}
    never, without = rules_never_tried(subject), rules_without_say(subject)
    tried = [
        rule
        for rule in subject.rules
        if rule.rule_id not in never and not _is_broken(subject, rule)
    ]
    # A lane is not reached either where only such a rule leads to it.
    again = subject.variables.query_processor_iterations > 0
    tried_ids = reach_of(tried, starts_again=again).reached
    asked_ids = reach_of(tried, starts_again=again, mirrored=False).reached
    deciding = [rule for rule in tried if rule.rule_id in tried_ids and _decides(rule)]
    last = max((rule.position for rule in deciding), default=0)
    anybody = _anybody(subject, usernames)
    found: dict[int, Say] = {}
    for rule in subject.rules:
        if rule.rule_id not in rule_ids:
            continue
        if rule.rule_id not in tried_ids:
            found[rule.rule_id] = Say.NEVER_TRIED
        elif rule.rule_id in without:
            found[rule.rule_id] = Say.OVERRULED
        elif rule.rule_id not in asked_ids:
            found[rule.rule_id] = Say.COPIES
        else:
            has_example = _has_example(subject, rule, queries_of(rows[rule.rule_id]), anybody)
            if has_example is None:
                # No rule comes behind it that could overrule it.
                has_example = rule.apply or (rule.position >= last and not again)
            found[rule.rule_id] = Say.DECIDES if has_example else Say.PERHAPS
    return found


def _anybody(subject: Subject, usernames: Collection[str] | None) -> Sequence[str | None]:
    """Return users to try a rule for everybody with; None is one that no rule names."""
    if usernames is None:
        return (None,)
    named = {rule.username for rule in subject.rules}
    ours = sorted(name for name in usernames if name in named)
    others: list[str | None] = [None] if len(ours) < len(usernames) or not ours else []
    return [*others, *ours[:_MOST_USERS]]


def _is_broken(subject: Subject, rule: Rule) -> bool:
    """Return whether a rule matches nothing, as a pattern of it does not compile."""
    asked = rule.broken if subject.variables.query_digests else {"match_pattern"} & {*rule.broken}
    return bool(asked) and not rule.negated


def _decides(rule: Rule) -> bool:
    return rule.destination is not None or bool(
        {"OK_msg", "error_msg"}.intersection(dict(rule.sets))
    )


def _has_example(
    subject: Subject, rule: Rule, queries: Iterable[str], anybody: Sequence[str | None]
) -> bool | None:
    """Return whether some query is known to go where this rule sends it.

    False: the rule matches some of these, and each of them goes elsewhere or is answered. None:
    nothing is known, as none gets to the rule, or a flag leads there.
    """
    is_matched = False
    sessions = [session_for(rule, name) for name in ((None,) if rule.username else anybody)]
    is_plain = rule.digest is None and not rule.broken
    for query in queries:
        for session in sessions:
            request = session.request(query)
            route = subject.router.evaluate(request)
            is_by_rule = route.source is Source.RULE and route.rule_id == rule.rule_id
            if is_by_rule and not route.is_answered and not route.undecided:
                return True
            if is_plain and not is_matched and request.query is not None:
                text = b"" if route.digest is None else route.digest.text
                is_matched = patterns_match(rule, text, request.query)
    return False if is_matched and rule.flag_in == 0 else None
