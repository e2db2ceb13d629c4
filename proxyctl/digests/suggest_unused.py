"""Rules that no query has met since they were loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from proxyctl.digests.suggest_chains import Bulk, Chain
from proxyctl.digests.suggest_context import Context
from proxyctl.digests.suggest_found import Kind, Suggestion
from proxyctl.digests.suggest_hits import RuleHits
from proxyctl.digests.units import count_text, time_text
from proxyctl.routing import Reason
from proxyctl.routing.rule import Rule

_UNKNOWN = (
    "What comes once a month, or at the end of the year: hits begin at 0 with every LOAD of the"
    " rules and every start of ProxySQL.",
    "Hits at other instances with the same rules, such as one that waits to take over.",
)


def without_hits(
    context: Context, hits: RuleHits, bulk: Bulk, chain: Chain
) -> Iterator[Suggestion]:
    """Yield the rules without hits. `chain`: what the rules in force make of the seen queries."""
    since = hits.since_s
    if since is None:
        context.note("unused: it cannot be told since when hits are counted")
        return
    if since < context.thresholds.unused_since:
        context.note(
            f"unused: hits are counted for {time_text(since * 1e6)} only, since the rules were"
            " loaded; rules without hits are listed from"
            f" {time_text(context.thresholds.unused_since * 1e6)} on"
        )
        return
    rules = [rule for rule in context.now.routers[0].rules if hits.hits.get(rule.rule_id) == 0]
    for rule in context.listed(Kind.UNUSED, rules):
        yield _suggestion(rule, since, bulk, chain)


def _suggestion(rule: Rule, since: int, bulk: Bulk, chain: Chain) -> Suggestion:
    matches = chain.matches[rule.rule_id]
    reasons: Counter[Reason] = chain.reasons.get(rule.rule_id, Counter())
    says = [f"No hit in {time_text(since * 1e6)}, the time since the rules were loaded."]
    if matches:
        says.append(
            f"Yet by their digests it matches {matches:,} of {count_text(bulk.calls, 'call')}"
            " in the statistics, which may be older than the rules."
        )
    elif bulk.calls:
        most = max(reasons, key=lambda one: reasons[one], default=None)
        if most is not None:
            says.append(
                f"Of {count_text(bulk.calls, 'call')} in the statistics none matches by its"
                f" digest; for {reasons[most]:,} of them: {most.value}."
            )
    if any(name in ("error_msg", "OK_msg") for name, _ in rule.sets):
        says.append("It answers by itself: a rule that blocks is meant to have no hits.")
    return Suggestion(
        Kind.UNUSED,
        f"rule {rule.rule_id} has no hits",
        {
            "rule_id": rule.rule_id,
            "hits": 0,
            "since_s": since,
            "calls_looked_at": bulk.calls,
            "calls_that_match": matches,
            "calls_not_reached": reasons.get(Reason.NOT_REACHED, 0),
        },
        tuple(says),
        _UNKNOWN,
    )
