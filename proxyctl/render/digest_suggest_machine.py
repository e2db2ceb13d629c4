"""Suggestions as JSON: stable, versioned, for machines."""

from __future__ import annotations

import json

from proxyctl.render.digest_suggest_text import RulesText
from proxyctl.stats.suggest.found import Suggestion, Suggestions, threshold_rows

FORMAT = 1


def suggest_json(found: Suggestions, rules_text: RulesText) -> str:
    """Return the suggestions as JSON; `rules` by column, `yaml` the same to paste."""
    document = {
        "format": FORMAT,
        "name": found.name,
        "address": found.address,
        "version": found.version,
        "taken_at": found.taken_at,
        "digests": found.digests,
        "count_star": found.count_star,
        "sum_time": found.sum_time,
        "suggestions": [_object(one, rules_text) for one in found.found],
        "left_out": {kind.value: count for kind, count in found.left_out.items()},
        "proof": found.proof or None,
        "unknown": [
            {"kind": kind.value, "says": list(texts)} for kind, texts in found.unknown.items()
        ],
        "notes": list(found.notes),
        "thresholds": {row.name: row.value for row in threshold_rows(found.thresholds)},
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _object(one: Suggestion, rules_text: RulesText) -> dict[str, object]:
    return {
        "kind": one.kind.value,
        "title": one.title,
        "digest": one.digest or None,
        "digest_text": one.digest_text or None,
        "evidence": dict(one.evidence),
        "says": list(one.says),
        "rules": [
            {name: value for name, value in cells.items() if value is not None}
            for cells in one.rules
        ],
        "yaml": rules_text(one.rules) if one.rules else None,
        "proof": one.proof or None,
    }
