"""Renders what `digest collect` did, and the heading of a list from a store."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.errors import counted
from proxyctl.render.digest_top import COUNTED, RANKING, RANKING_KEYS
from proxyctl.render.encode import Shape
from proxyctl.render.style import listed_names, moment, named_address
from proxyctl.stats.store.collect import Collected
from proxyctl.stats.store.top import TopOfStore
from proxyctl.stats.units import time_text
from proxyctl.text import printable


def collected_lines(one: Collected) -> Iterator[str]:
    """Yield what was added from an instance, then notes."""
    name = named_address(one.name, one.address)
    if not one.is_first:
        growth = (
            f"{counted(one.growth.count_star, 'query')} of {counted(one.growth.entries, 'entry')}"
        )
        yield f"{name}: {growth} added, {time_text(one.seconds * 1e6)} after the last collection"
    yield from (f"note: {name}: {printable(note)}" for note in one.notes)


def store_text(top: TopOfStore) -> str:
    """Return the heading of a list: `digests.db  px1, px2  2026-11-28 10:00:00 UTC to ...`."""
    names = listed_names([one.name for one in top.instances])
    path = printable(top.window.path.name)
    return f"{path}  {names}  {moment(top.start)} to {moment(top.end)}"


TOP_OF_STORE: Shape[TopOfStore] = Shape(
    "digest top of a store",
    f"store since until instances {RANKING_KEYS}",
    store=lambda one: str(one.window.path),
    since=lambda one: one.start,
    until=lambda one: one.end,
    instances=lambda one: COUNTED.each(one.instances),
    **RANKING,
)
