"""A comparison of two snapshots as JSON: stable, versioned, for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping

from proxyctl.stats.diff import (
    LEAST_CALLS,
    LEAST_CHANGE,
    LEAST_EXPECTED,
    LEAST_MOVE,
    Diff,
    Entry,
    Side,
)
from proxyctl.stats.model import Load

FORMAT = 1


def digest_diff_json(diff: Diff) -> str:
    """Return a comparison as JSON. Units: times in microseconds, rates a second."""
    document = {
        "format": FORMAT,
        "before": _side(diff.before),
        "after": _side(diff.after),
        "remarks": [{"code": code, "message": text} for code, text in diff.remarks.items()],
        "rule": {
            "least_calls": LEAST_CALLS,
            "least_change": LEAST_CHANGE,
            "least_expected": LEAST_EXPECTED,
            "least_move": LEAST_MOVE,
        },
        "counts": {
            **{str(kind): count for kind, count in diff.counts.items()},
            "moved": diff.moved,
            "digests": diff.count,
        },
        "digests": [_entry(diff, entry) for entry in diff.entries],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _side(side: Side) -> dict[str, object]:
    return {
        "name": side.name,
        "address": side.address,
        "version": side.version,
        "taken_at": side.taken_at,
        "uptime": side.uptime,
        "entries": side.count,
        "seconds": side.seconds,
        **_load(side.total, side.seconds),
    }


def _entry(diff: Diff, entry: Entry) -> dict[str, object]:
    key: dict[str, object] = {str(by): value for by, value in zip(diff.by, entry.key, strict=True)}
    if "digest" in key:
        key["digest_text"] = entry.text
    return {
        **key,
        "verdict": entry.verdict,
        "moved": entry.is_moved,
        "reset": entry.is_reset,
        "before": {
            **_load(entry.before, diff.before.seconds),
            "hostgroups": _calls(entry.hostgroups_before),
        },
        "after": {
            **_load(entry.after, diff.after.seconds),
            "hostgroups": _calls(entry.hostgroups_after),
        },
    }


def _calls(calls: Mapping[int, int]) -> dict[str, int]:
    return {str(number): count for number, count in calls.items()}


def _load(load: Load, seconds: int) -> dict[str, object]:
    return {
        "count_star": load.count_star,
        "sum_time": load.sum_time,
        "average": round(load.average, 3),
        "max_time": load.max_time,
        "sum_rows_sent": load.sum_rows_sent,
        "sum_rows_affected": load.sum_rows_affected,
        "calls_per_second": round(load.count_star / seconds, 6),
        "time_per_second": round(load.sum_time / seconds, 3),
    }
