"""Users of whom rules take every query, so that none comes to their default hostgroup.

A rule in flagIN 0 matches all that a user sends and says where it goes, or answers it; and no rule
in front of it ends the rules, or leads elsewhere, with neither said. Nothing is claimed that is not
proven. A SET that ProxySQL does not understand may go to the default hostgroup all the same, but
where the rule answers it. Source: ProxySQL 2.7.1, run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from proxyctl.catalog import Value
from proxyctl.cells import number
from proxyctl.configuration import Configuration, Held
from proxyctl.lint.rule_cover import Covers
from proxyctl.lint.rules_in_play import words_in
from proxyctl.lint.subject import RULES, Subject
from proxyctl.routing.rule import Rule
from proxyctl.state import Key

_OTHER_CRITERIA = ("schemaname", "client_addr", "proxy_addr", "proxy_port", "digest")
ANSWERS = ("error_msg", "OK_msg")
_MOST_LETTERS = 100
"""A longer pattern is for something: it is not worth a proof."""


class _Rule(NamedTuple):
    """An active rule in its place. `username` empty: of everybody."""

    rule_id: int
    key: Key
    username: str
    cells: dict[str, Value]

    def says_where(self) -> bool:
        """Return whether a query that it matches has a destination from then on, or an answer."""
        destination = number(self.cells.get("destination_hostgroup"))
        return (destination is not None and destination >= 0) or self.answers()

    def answers(self) -> bool:
        """Return whether ProxySQL answers a query that it matches."""
        return any(self.cells.get(name) is not None for name in ANSWERS)

    def leads_away(self) -> bool:
        """Return whether a query that it matches may not get to the rules behind it."""
        ends = number(self.cells.get("apply")) == 1
        return ends or self.cells.get("flagOUT") is not None or bool(self.cells.get("attributes"))

    def may_match_all(self) -> bool:
        """Return whether it is worth a proof, as far as that is seen at a glance."""
        if any(self.cells.get(name) not in (None, "") for name in _OTHER_CRITERIA):
            return False
        patterns = [self.cells.get(name) for name in ("match_digest", "match_pattern")]
        texts = [str(pattern) for pattern in patterns if pattern is not None]
        return all(len(text) <= _MOST_LETTERS and not words_in(text) for text in texts)


def taken_users(configuration: Configuration, usernames: Collection[str]) -> Mapping[str, bool]:
    """Return those of these users of whom rules are known to take every query.

    Shape: with whether each is answered, even a SET that ProxySQL does not understand. They are
    users without fast_forward. Raises: as `Subject.router`.
    """
    held = configuration.tables.get(RULES)
    if held is None or not usernames:
        return {}
    rules = sorted(_rules_of(held), key=lambda rule: rule.rule_id)
    if any(number(rule.cells.get("next_query_flagIN")) not in (None, 0) for rule in rules):
        return {}  # the next query of a session begins elsewhere
    entrance = [rule for rule in rules if (number(rule.cells.get("flagIN")) or 0) <= 0]
    taking = _first_of_each(_taking(configuration, held, entrance))
    ending = [rule for rule in entrance if rule.leads_away()]
    leading = _first_of_each(rule for rule in ending if not rule.says_where())
    sending = _first_of_each(rule for rule in ending if not rule.answers())
    answering = {rule.rule_id for rule in entrance if rule.answers()}

    def first(found: dict[str, int], username: str) -> float:
        return min(found.get(name, float("inf")) for name in ("", username))

    taken: dict[str, bool] = {}
    for name in usernames:
        by = first(taking, name)
        if by < first(leading, name):
            taken[name] = by in answering and by < first(sending, name)
    return taken


def _rules_of(held: Held) -> Iterator[_Rule]:
    names = held.layout.names
    for key, row in held.rows.items():
        cells = dict(zip(names, row, strict=True))
        if number(cells["active"]) == 1:
            yield _Rule(number(cells["rule_id"]) or 0, key, str(cells["username"] or ""), cells)


def _taking(configuration: Configuration, held: Held, entrance: list[_Rule]) -> Iterator[_Rule]:
    """Yield the rules that match every query of the users they are for, and say where it goes."""
    likely = [rule for rule in entrance if rule.says_where() and rule.may_match_all()]
    if not likely:
        return
    # The others, which may be thousands, need not be compiled.
    chosen = replace(held, rows={rule.key: held.rows[rule.key] for rule in likely})
    subject = Subject(replace(configuration, tables={RULES: chosen}))
    proven = {rule.rule_id for rule in subject.rules if matches_every_query(rule, subject)}
    yield from (rule for rule in likely if rule.rule_id in proven)


def _first_of_each(rules: Iterable[_Rule]) -> dict[str, int]:
    """Return the first rule for each username."""
    found: dict[str, int] = {}
    for rule in rules:
        found.setdefault(rule.username, rule.rule_id)
    return found


def matches_every_query(rule: Rule, subject: Subject) -> bool:
    """Return whether a rule is known to match every query of the user that it is for.

    No query is empty, no digest begins with a blank, and there is none without a letter.
    """
    if not subject.variables.query_digests:
        return rule.digest is None and rule.match_pattern is None
    patterns = [one for one in (rule.match_digest, rule.match_pattern) if one is not None]
    # Asking is quicker than a proof.
    probes = (b"q", b"Q")
    if not (rule.negated or all(one.matches(probe) for one in patterns for probe in probes)):
        return False
    judge = Covers(subject)

    def covers(digest: str, text: str) -> bool:
        cells: dict[str, Value] = {"match_digest": digest, "match_pattern": text}
        cells["username"] = rule.username
        return judge.covers(rule, Rule(cells, 0, subject.router.patterns))

    return covers(r"^\S", r"\S") or covers("[A-Za-z]", "[A-Za-z]")
