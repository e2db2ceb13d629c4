"""What becomes of a query, as far as two rule sets are compared by it."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from proxyctl.routing import Route, Source, Special, Stage
from proxyctl.routing.open_questions import Rewriting
from proxyctl.routing.special import LAST_INSERT_ID


class Kind(StrEnum):
    """In what a query's fate differs."""

    HOSTGROUP = "hostgroup"
    REWRITTEN = "rewritten"
    CACHED = "cached"
    BLOCKED = "blocked"
    """By an OK_msg or error_msg; or not any more, or with another message."""
    SETTINGS = "settings"
    """Mirroring, timeouts, delays and the like."""


class Outcome(NamedTuple):
    """What becomes of a query. Shape: nothing but `answer` counts where ProxySQL answers itself.

    `source` says what chose the hostgroup; `rule_id` is the rule that did, else the last rule that
    matched, else None. `answer` is (OK_msg or error_msg, the text); where ProxySQL answers whatever
    the rules say, it is ("", how that is). Units: `cache_ttl` in milliseconds.
    """

    hostgroup: int | None
    source: Source
    rule_id: int | None
    answer: tuple[str, str] | None = None
    cache_ttl: int | None = None
    rewriting: Rewriting = ()
    settings: tuple[tuple[str, int | str], ...] = ()


_ANSWERS = ("OK_msg", "error_msg")
_APART = frozenset({*_ANSWERS, "cache_ttl", "cache_timeout", "reconnect", "sticky_conn"})
"""Settings that are compared by themselves, or that ProxySQL does not use."""


def own_outcome(special: Special | None) -> Outcome | None:
    """Return the outcome where ProxySQL deals with a statement by itself, else None."""
    if special is None or special.stage is Stage.AFTER_MESSAGES or not special.is_answered:
        return None
    return _answered(special)


def _answered(special: Special) -> Outcome:
    return Outcome(None, Source.NOTHING, None, ("", special.what))


def outcome_of(route: Route, rewriting: Rewriting, special: Special | None) -> Outcome:
    """Return what a route means. `special`: of its digest text, and not `own_outcome`."""
    rule_id = route.rule_id
    if rule_id is None and route.matched_rules:
        rule_id = route.matched_rules[-1]
    for name in _ANSWERS:
        if name in route.settings:
            answer = (name, str(route.settings[name]))
            return Outcome(None, route.source, rule_id, answer)
    if special is not None and special.is_answered:
        return _answered(special)
    cached = route.settings.get("cache_ttl")
    if special is LAST_INSERT_ID or not isinstance(cached, int) or cached <= 0:
        cached = None
    settings = sorted((n, v) for n, v in route.settings.items() if n not in _APART)
    return Outcome(
        route.destination_hostgroup,
        route.source,
        rule_id,
        cache_ttl=cached,
        rewriting=rewriting,
        settings=tuple(settings),
    )


def kinds_of(before: Outcome, after: Outcome) -> frozenset[Kind]:
    """Return in what two outcomes differ. Which rule says so is no difference."""
    if before.answer or after.answer:
        return frozenset({Kind.BLOCKED} if before.answer != after.answer else ())
    pairs = (
        (Kind.HOSTGROUP, before.hostgroup, after.hostgroup),
        (Kind.REWRITTEN, before.rewriting, after.rewriting),
        (Kind.CACHED, before.cache_ttl, after.cache_ttl),
        (Kind.SETTINGS, before.settings, after.settings),
    )
    return frozenset(kind for kind, old, new in pairs if old != new)
