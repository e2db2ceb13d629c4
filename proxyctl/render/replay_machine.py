"""A replay as JSON: stable, versioned, for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence

from proxyctl.plan.plan import Plan, ShardMove
from proxyctl.render.explain_machine import SOURCES
from proxyctl.render.plan_machine import FORMAT as PLAN_FORMAT
from proxyctl.render.plan_machine import plan_object
from proxyctl.stats.model import Load
from proxyctl.stats.replay.outcome import Kind, Outcome
from proxyctl.stats.replay.result import Entry, Replay

FORMAT = 1


def replay_json(report: Replay, moves: Sequence[ShardMove]) -> str:
    """Return a replay as JSON. Shape: docs/reference/json-routing.md."""
    document = {
        "format": FORMAT,
        "name": report.name,
        "address": report.address,
        "version": report.version,
        "taken_at": report.taken_at,
        **replay_object(report),
        "shard_moves": [move._asdict() for move in moves],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def plan_json_with(plan: Plan, report: Replay) -> str:
    """Return a plan as `plan_json` does, with a replay."""
    instance = {**plan_object(plan), "replay": replay_object(report)}
    document = {"format": PLAN_FORMAT, "instances": [instance]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def replay_object(report: Replay) -> dict[str, object]:
    """Return the findings of a replay as plain data."""
    return {
        "total": _tally(report, report.total),
        "unchanged": _tally(report, report.unchanged),
        "changed": {
            **_tally(report, report.changed),
            "kinds": {k.value: _tally(report, report.certain.get(k, Load())) for k in Kind},
        },
        "undecided": {
            **_tally(report, report.undecided),
            "kinds": {k.value: _tally(report, report.possible.get(k, Load())) for k in Kind},
            "rules": [
                {"rule_id": rule_id, "column": column, **_tally(report, tally)}
                for (rule_id, column), tally in sorted(report.open_rules.items())
            ],
        },
        "elsewhere": _tally(report, report.elsewhere),
        "not_compared": _tally(report, report.not_compared),
        "texts": dict(sorted(report.texts.items())),
        "next_query_flagIN": list(report.flag_rules),
        "flows": [
            {
                "current": {"hostgroup": flow.before, "rule_id": flow.rule_before},
                "desired": {"hostgroup": flow.after, "rule_id": flow.rule_after},
                **_tally(report, tally),
            }
            for flow, tally in sorted(report.flows.items(), key=lambda item: -item[1].sum_time)
        ],
        "digests": [
            *(_entry(report, entry, "changed") for entry in report.moved),
            *(_entry(report, entry, "undecided") for entry in report.open),
        ],
        "elsewhere_digests": [_entry(report, entry, "elsewhere") for entry in report.astray],
    }


def _tally(report: Replay, tally: Load) -> dict[str, object]:
    return {
        "digests": tally.entries,
        "count_star": tally.count_star,
        "sum_time": tally.sum_time,
        "share": round(report.share(tally), 6),
    }


def _entry(report: Replay, entry: Entry, status: str) -> dict[str, object]:
    seen, verdict = entry.seen, entry.verdict
    expected = None if verdict.expected is None else sorted(verdict.expected)
    return {
        "status": status,
        **seen._asdict(),
        "share": round(report.share(seen), 6),
        "kinds": sorted(verdict.certain),
        "possible_kinds": sorted(verdict.possible),
        "current": [_outcome(outcome) for outcome in verdict.before],
        "desired": [_outcome(outcome) for outcome in verdict.after],
        "undecided": [
            {"rule_id": rule_id, "column": column} for rule_id, column in verdict.undecided
        ],
        "expected_hostgroups": expected,
        "notes": list(verdict.notes),
    }


def _outcome(outcome: Outcome) -> dict[str, object]:
    column, text = outcome.answer or ("", None)
    return {
        "hostgroup": outcome.hostgroup,
        "by": SOURCES[outcome.source],
        "rule_id": outcome.rule_id,
        "cache_ttl": outcome.cache_ttl,
        "rewritten": bool(outcome.rewriting),
        "OK_msg": text if column == "OK_msg" else None,
        "error_msg": text if column == "error_msg" else None,
        "answered_by_proxysql": outcome.answer is not None,
        "settings": dict(outcome.settings),
    }
