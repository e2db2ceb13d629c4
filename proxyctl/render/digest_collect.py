"""Renders what `digest collect` added to a store."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.render.style import named_address
from proxyctl.stats.store.collect import Collected
from proxyctl.stats.units import time_text
from proxyctl.text import counted, printable


def collected_lines(collected: Collected) -> Iterator[str]:
    """Yield what was added from an instance, then notes."""
    name = named_address(collected.name, collected.address)
    if (growth := collected.growth) is not None:
        added = f"{counted(growth.count_star, 'query')} of {counted(growth.entries, 'entry')} added"
        yield f"{name}: {added}, {time_text(collected.seconds * 1e6)} after the last collection"
    yield from (f"note: {name}: {printable(note)}" for note in collected.notes)
