"""Renders what `digest collect` added to a store."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.render.style import named_address
from proxyctl.stats.store.collect import Collected
from proxyctl.stats.units import time_text
from proxyctl.text import counted, printable


def collected_lines(one: Collected) -> Iterator[str]:
    """Yield what was added from an instance, then notes."""
    name = named_address(one.name, one.address)
    if one.growth is not None:
        growth = (
            f"{counted(one.growth.count_star, 'query')} of {counted(one.growth.entries, 'entry')}"
        )
        yield f"{name}: {growth} added, {time_text(one.seconds * 1e6)} after the last collection"
    yield from (f"note: {name}: {printable(note)}" for note in one.notes)
