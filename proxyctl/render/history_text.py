"""The snapshots of an instance, for people and for machines. No cell of them is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from proxyctl.errors import counted
from proxyctl.plan.change import ADD, CHANGE, DELETE
from proxyctl.render.style import PLAIN, Style
from proxyctl.snapshots.snapshot import BY_HAND, Header, Kept
from proxyctl.text import printable

FORMAT = 1


def history_text(found: Sequence[Kept], style: Style = PLAIN) -> str:
    """Return two lines a snapshot, the newest first."""
    width = len(str(len(found)))
    return "\n".join(line for kept in found for line in _lines(kept, style, width)) + "\n"


def _lines(kept: Kept, style: Style, width: int) -> Iterator[str]:
    indent = " " * (width + 2)
    number = style("bold", f"{kept.number:>{width}}")
    if kept.header is None:
        yield f"{number}  {printable(kept.name)}  {_size(kept.size)}"
        yield f"{indent}{style('refuse', 'cannot be used')}: {printable(kept.problem)}"
        return
    yield f"{number}  {taken_when(kept.header)}"
    changes = "; ".join(
        f"{printable(module)} {_counts(counts)}" for module, counts in kept.header.changes.items()
    )
    parts = [printable(kept.name), _size(kept.size), changes]
    yield indent + "  ".join(part for part in parts if part)


def taken_when(header: Header) -> str:
    """Return when it was taken, by whom and before what."""
    at, by = printable(header.taken_at.replace("+00:00", "Z")), printable(header.by)
    if header.before == BY_HAND:
        return f"taken {at} by {by}"
    verb = {"apply": "apply of", "rollback": "rollback to"}.get(header.before, header.before)
    sources = printable(", ".join(header.sources))
    return f"taken {at}, before {printable(verb)} {sources} by {by}"


def _counts(counts: Mapping[str, int]) -> str:
    words = ((ADD, "added"), (CHANGE, "changed"), (DELETE, "deleted"))
    return ", ".join(f"{counts[action]} {word}" for action, word in words if counts.get(action))


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
    header = kept.header
    return {
        "number": kept.number,
        "name": kept.name,
        "path": str(kept.path),
        "bytes": kept.size,
        "problem": kept.problem or None,
        "taken_at": header and header.taken_at,
        "version": header and header.version,
        "before": header and header.before,
        "sources": list(header.sources) if header else [],
        "by": header and header.by,
        "changes": [
            {"module": module, **{action: counts.get(action, 0) for action in _ACTIONS}}
            for module, counts in (header.changes if header else {}).items()
        ],
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
