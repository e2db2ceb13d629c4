"""Rules that send a part of a user's queries elsewhere than its writes go."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from proxyctl.lint.shadowing import rules_without_say
from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_sessions import logins, session_for
from proxyctl.lint.traffic_twins import ask
from proxyctl.routing.probes import INSERT
from proxyctl.routing.rule import Rule


class Parting(NamedTuple):
    """A rule, and the hostgroup of the writes in the sessions that it is for."""

    rule: Rule
    hostgroup: int


def parting_rule(subject: Subject, username: str | None) -> Parting | None:
    """Return the first rule that may send a query of the user elsewhere than its writes go."""
    user = logins(subject).get(username or "")
    if user is None or user.fast_forward:
        return None
    sending = subject.once(_sending)
    for rule in sorted((*sending[None], *sending[username]), key=lambda one: one.position):
        route = ask(subject, session_for(rule, username), INSERT.query)
        hostgroup = route.destination_hostgroup
        if hostgroup not in (None, rule.destination) and not route.is_answered:
            return Parting(rule, hostgroup)
    return None


def _sending(subject: Subject) -> Mapping[str | None, Sequence[Rule]]:
    """Return the rules that a query may reach and that send it somewhere, by username."""
    found: dict[str | None, list[Rule]] = defaultdict(list)
    without_say = rules_without_say(subject)
    for rule in subject.rules:
        answers = {"OK_msg", "error_msg"}.intersection(dict(rule.sets))
        is_reached = rule.rule_id in subject.reach.reached and rule.rule_id not in without_say
        # A pattern that does not compile matches nothing.
        if rule.destination is not None and is_reached and not answers and not rule.broken:
            found[rule.username].append(rule)
    return found
