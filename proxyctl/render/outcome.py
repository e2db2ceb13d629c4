"""What becomes of a query: one outcome, or several of which a digest does not tell which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proxyctl.errors import counted
from proxyctl.render.encode import Shape
from proxyctl.render.explain import SOURCES
from proxyctl.render.style import hostgroup, shown
from proxyctl.routing import Source
from proxyctl.stats.replay.outcome import Outcome

_MOST = 3


def outcomes_text(outcomes: Sequence[Outcome], names: Mapping[int, str], noun: str = "") -> str:
    """Return the first outcomes, and how many more there are. `noun`: of a hostgroup."""
    texts = list(dict.fromkeys(_outcome_text(outcome, names, noun) for outcome in outcomes))
    if len(texts) > _MOST:
        texts[_MOST:] = [counted(len(texts) - _MOST, "other")]
    return " or ".join(texts)


def _outcome_text(outcome: Outcome, names: Mapping[int, str], noun: str) -> str:
    """Return what becomes of a query: `30 (reader) by rule 5010, cached 5000 ms`."""
    if outcome.answer is not None:
        column, text = outcome.answer
        return f"{column} {shown(text, limit=40)} by rule {outcome.rule_id}" if column else text
    if outcome.hostgroup is None:
        return "nowhere: no rule, and no such user in mysql_users"
    by = f"rule {outcome.rule_id}" if outcome.source is Source.RULE else SOURCES[outcome.source]
    parts = [f"{noun}{hostgroup(outcome.hostgroup, names)} by {by}"]
    if outcome.cache_ttl is not None:
        parts.append(f"cached {outcome.cache_ttl} ms")
    if outcome.rewriting:
        parts.append("rewritten")
    parts += [f"{name} {shown(value)}" for name, value in outcome.settings]
    return ", ".join(parts)


OUTCOME: Shape[Outcome] = Shape(
    "outcome of a digest",
    "hostgroup by rule_id cache_ttl rewritten OK_msg error_msg answered_by_proxysql special"
    " settings",
    by=lambda one: SOURCES[one.source],
    rewritten=lambda one: bool(one.rewriting),
    OK_msg=lambda one: _message(one, "OK_msg"),
    error_msg=lambda one: _message(one, "error_msg"),
    answered_by_proxysql=lambda one: one.answer is not None,
    special=lambda one: _message(one, ""),
    settings=lambda one: dict(one.settings),
)


def _message(outcome: Outcome, column: str) -> str | None:
    return outcome.answer[1] if outcome.answer and outcome.answer[0] == column else None
