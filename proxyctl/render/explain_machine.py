"""What becomes of a query, as JSON: one whole answer, or one line of the batch form."""

from __future__ import annotations

import json
from typing import Any

from proxyctl.routing import Source, Step
from proxyctl.routing.explain import Answer, text_of
from proxyctl.routing.servers import Destination

SOURCES = {
    Source.RULE: "rule",
    Source.FAST_ROUTING: "fast_routing",
    Source.HINT: "hint",
    Source.DEFAULT_HOSTGROUP: "default_hostgroup",
    Source.NOTHING: None,
}


def batch_line(answer: Answer) -> str:
    """Return one line of `--format jsonl`; null where nothing applies.

    `digest` and `digest_text` are what stats_mysql_query_digest shows, so those of the text that a
    rule made; `match_digest_text` is what match_digest saw.
    """
    return json.dumps(_batch(answer))


def _batch(answer: Answer) -> dict[str, Any]:
    route = answer.route
    return {
        "digest_text": answer.digest_text,
        "digest": answer.digest,
        "matched_rules": list(route.matched_rules),
        "destination_hostgroup": route.destination_hostgroup,
        "rewritten_query": answer.rewritten_query,
        "cache_ttl": route.settings.get("cache_ttl"),
        "error_msg": route.settings.get("error_msg"),
        "OK_msg": route.settings.get("OK_msg"),
        "match_digest_text": None if route.digest is None else text_of(route.digest.text),
    }


def explain_json(answer: Answer) -> dict[str, Any]:
    """Return everything that is known of one query, as plain data."""
    request, found, destination = answer.request, answer.explanation, answer.destination
    route = found.route
    hostgroup = route.destination_hostgroup
    return {
        "query": text_of(request.query),
        "username": request.username,
        "schemaname": request.schemaname,
        "client_addr": request.client_addr,
        "proxy_addr": request.proxy_addr,
        "proxy_port": request.proxy_port,
        "flagIN": request.flagIN,
        **_batch(answer),
        "digest_certain": route.digest is None or route.digest.certain,
        "hostgroup_name": None if hostgroup is None else answer.explainer.names.get(hostgroup),
        "decided_by": SOURCES[route.source],
        "rule_id": route.rule_id,
        "settings": dict(route.settings),
        "final_flagIN": route.flagIN,
        "fast_routing": found.fast_routing.name.lower(),
        "fast_routing_key": None if found.fast_key is None else list(found.fast_key),
        "hints": dict(found.hints),
        "special": None if route.special is None else route.special.what,
        "servers": None if destination is None else _servers(destination),
        "placed_by_monitor": destination is not None and destination.family != "",
        "undecided": list(route.undecided),
        "loop": None if route.loop is None else list(route.loop.rule_ids),
        "outcomes": [
            {
                "probability": one.probability,
                "destination_hostgroup": one.route.destination_hostgroup,
                "matched_rules": list(one.route.matched_rules),
            }
            for one in (answer.outcomes if route.drawn else ())
        ],
        "rules": [_step(step) for step in found.steps],
    }


def _servers(destination: Destination) -> list[dict[str, Any]] | None:
    if not destination.is_known:
        return None
    return [backend._asdict() for backend in destination.backends]


def _step(step: Step) -> dict[str, Any]:
    return {
        "rule_id": step.rule_id,
        "matched": step.reason is None,
        "reason": None if step.reason is None else step.reason.name.lower(),
        "broken": dict(step.broken),
        "unverified": list(step.unverified),
        "flagIN": step.flag,
        "flagIN_after": step.flag_after,
        "sets": dict(step.sets),
        "rewritten_query": text_of(step.rewritten),
        "apply": step.applied,
        "started_again": step.started_again,
    }
