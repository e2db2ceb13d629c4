"""A top list of digests as JSON and as CSV, for machines. Times are in microseconds."""

from __future__ import annotations

import csv
import io
import json

from proxyctl.stats.model import Group, Load
from proxyctl.stats.top.listing import Caught, Top, TopRow
from proxyctl.text import printable

FORMAT = 1

_FIGURES = (
    "count_star",
    "sum_time",
    "min_time",
    "max_time",
    "avg_time",
    "share",
    "cumulative_share",
    "sum_rows_affected",
    "sum_rows_sent",
    "time_per_row",
    "first_seen",
    "last_seen",
    "entries",
)
_DIGITS = {"avg_time": 3, "time_per_row": 3, "share": 6, "cumulative_share": 6}


def digest_top_json(top: Top) -> str:
    """Return the list as JSON. Shape: docs/reference/json-digests.md."""
    document = {
        "format": FORMAT,
        "name": top.name,
        "address": top.address,
        "version": top.version,
        "taken_at": top.taken_at,
        "group": list(top.options.groups),
        "sort": top.options.sort,
        "total": _load(top.total),
        "selected": {**_load(top.selected), "groups": top.groups},
        "notes": top.notes(),
        "digests": [_object(row) for row in top.rows],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def digest_top_csv(top: Top) -> str:
    """Return the list as CSV with a line of names. Control characters stand as escapes."""
    names = [*top.options.groups, *_FIGURES]
    has_text = Group.DIGEST in top.options.groups
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*names, *(["digest_text"] if has_text else [])])
    for row in top.rows:
        found = _object(row)
        cells = [found[name] for name in names] + ([row.digest_text] if has_text else [])
        writer.writerow([_cell(cell) for cell in cells])
    return file.getvalue()


def _cell(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


def _object(row: TopRow) -> dict[str, object]:
    found: dict[str, object] = {group.value: value for group, value in row.group.items()}
    if row.digest_text is not None:
        found["digest_text"] = row.digest_text
        found["is_cut"] = row.is_cut
    for name in _FIGURES:
        value = getattr(row, name)
        found[name] = round(value, _DIGITS[name]) if isinstance(value, float) else value
    if row.caught:
        found["rules"] = [_caught(one) for one in row.caught]
    return found


def _caught(caught: Caught) -> dict[str, object]:
    return {**_load(caught.load), "fates": [fate._asdict() for fate in caught.fates]}


def _load(load: Load) -> dict[str, object]:
    return {
        "entries": load.entries,
        "count_star": load.count_star,
        "sum_time": load.sum_time,
    }
