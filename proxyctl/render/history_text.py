"""The snapshots of an instance, for people and for machines. No cell of them is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proxyctl.change import ADD, CHANGE, DELETE
from proxyctl.control_characters import printable
from proxyctl.errors import counted
from proxyctl.render.style import PLAIN, Style
from proxyctl.snapshot import BY_HAND, Kept, Occasion, Outcome, Snapshot, Summary

FORMAT = 1
NO_OUTCOME = "outcome not known"


def history_text(found: Sequence[Kept], style: Style = PLAIN) -> str:
    """Return two lines a snapshot, the newest first."""
    width = len(str(len(found)))
    return "\n".join(line for kept in found for line in _lines(kept, style, width)) + "\n"


def _lines(kept: Kept, style: Style, width: int) -> Iterator[str]:
    indent = " " * (width + 2)
    number = style("bold", f"{kept.number:>{width}}")
    if kept.summary is None:
        yield f"{number}  {printable(kept.name)}  {_size(kept.size)}"
        yield f"{indent}{style('refuse', 'cannot be used')}: {printable(kept.problem)}"
        return
    occasion = kept.summary.occasion
    yield f"{number}  {taken_when(kept.summary)}{_outcome(kept)}"
    changes = "; ".join(
        f"{printable(module)} {_counts(counts)}" for module, counts in occasion.changes.items()
    )
    parts = [printable(kept.name), _size(kept.size), changes, _secrets(occasion)]
    yield indent + "  ".join(part for part in parts if part)


def taken_when(taken: Snapshot | Summary) -> str:
    """Return when it was taken, by whom and before what."""
    occasion, at = taken.occasion, printable(taken.taken_at.replace("+00:00", "Z"))
    by = f" by {printable(occasion.by)}" if occasion.by else ""
    if occasion.purpose == BY_HAND:
        return f"taken {at}{by}"
    verb = {"apply": "apply of", "rollback": "rollback to"}.get(occasion.purpose, occasion.purpose)
    sources = printable(", ".join(occasion.sources))
    return f"taken {at}, before {printable(verb)} {sources}{by}"


def _outcome(kept: Kept) -> str:
    if kept.summary is None or kept.summary.occasion.purpose == BY_HAND:
        return ""
    if kept.outcome is Outcome.APPLIED:
        return ""
    return f": {kept.outcome.value if kept.outcome else NO_OUTCOME}"


def _counts(counts: Mapping[str, int]) -> str:
    words = ((ADD, "added"), (CHANGE, "changed"), (DELETE, "deleted"))
    return ", ".join(f"{counts[action]} {word}" for action, word in words if counts.get(action))


def _secrets(occasion: Occasion) -> str:
    return "without secrets" if occasion.omits_secrets else ""


def _size(size: int) -> str:
    if size < 10_000:
        return counted(size, "byte")
    return f"{size / 1000:,.0f} kB" if size < 10_000_000 else f"{size / 1_000_000:,.0f} MB"


def history_json(address: str, found: Sequence[Kept]) -> str:
    """Return the snapshots as one document."""
    document = {
        "format": FORMAT,
        "address": address,
        "snapshots": [_object(kept) for kept in found],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _object(kept: Kept) -> dict[str, Any]:
    summary, occasion = kept.summary, kept.summary and kept.summary.occasion
    return {
        "number": kept.number,
        "name": kept.name,
        "path": str(kept.path),
        "bytes": kept.size,
        "problem": kept.problem or None,
        "taken_at": summary and summary.taken_at,
        "version": summary and summary.version,
        "before": occasion and occasion.purpose,
        "sources": list(occasion.sources) if occasion else [],
        "by": occasion and occasion.by,
        "changes": [
            {"module": module, **{action: counts.get(action, 0) for action in _ACTIONS}}
            for module, counts in (occasion.changes if occasion else {}).items()
        ],
        "outcome": kept.outcome and kept.outcome.value,
        "omits_secrets": occasion and occasion.omits_secrets,
    }


_ACTIONS = (ADD, CHANGE, DELETE)


def taken_json(address: str, path: Path, tables: int, rows: int) -> str:
    """Return what a snapshot by hand wrote."""
    document = {
        "format": FORMAT,
        "address": address,
        "path": str(path),
        "tables": tables,
        "rows": rows,
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
