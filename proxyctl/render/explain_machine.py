"""What becomes of a query, as JSON: one whole answer, or one line of the batch form."""

from __future__ import annotations

import json
from typing import Any

from proxyctl.routing import Route, Source, Step
from proxyctl.routing.explain import Answer, Explainer
from proxyctl.routing.servers import Destination

SOURCES = {
    Source.RULE: "rule",
    Source.FAST_ROUTING: "fast_routing",
    Source.HINT: "hint",
    Source.DEFAULT_HOSTGROUP: "default_hostgroup",
    Source.NOTHING: None,
}


def text_of(raw: bytes | None) -> str | None:
    """Return bytes as text; what is not UTF-8 as surrogate escapes."""
    return None if raw is None else raw.decode("utf-8", "surrogateescape")


def batch_line(route: Route, max_digest_length: int) -> str:
    """Return one line of `--format jsonl`; null where nothing applies.

    `digest` and `digest_text` are what stats_mysql_query_digest shows, so those of the text that a
    rule made; `match_digest_text` is what match_digest saw. Units: `max_digest_length` in bytes.
    """
    return json.dumps(_batch(route, max_digest_length))


def _batch(route: Route, max_digest_length: int) -> dict[str, Any]:
    final, seen = route.final_digest, route.digest
    return {
        "digest_text": None if final is None else text_of(final.text[:max_digest_length]),
        "digest": None if final is None else f"0x{final.number:016X}",
        "matched_rules": list(route.matched_rules),
        "destination_hostgroup": route.destination_hostgroup,
        "rewritten_query": text_of(route.rewritten_query),
        "cache_ttl": route.settings.get("cache_ttl"),
        "error_msg": route.settings.get("error_msg"),
        "OK_msg": route.settings.get("OK_msg"),
        "match_digest_text": None if seen is None else text_of(seen.text),
    }


def explain_json(answer: Answer, explainer: Explainer) -> dict[str, Any]:
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
        **_batch(route, explainer.max_digest_length),
        "digest_certain": route.digest is None or route.digest.certain,
        "hostgroup_name": None if hostgroup is None else explainer.names.get(hostgroup),
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
            for one in answer.outcomes
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
