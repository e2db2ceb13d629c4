"""Renders a list of digests from a store: its heading, and JSON."""

from __future__ import annotations

from collections.abc import Sequence

from proxyctl.render.digest_top import COUNTED, RANKING, RANKING_KEYS
from proxyctl.render.encode import Shape
from proxyctl.render.style import listed_names, moment
from proxyctl.stats.store.top import TopOfStore
from proxyctl.stats.store.window import StoreWindow
from proxyctl.text import printable


def store_text(top: TopOfStore) -> str:
    """Return the heading of a list: `digests.db  px1, px2  2026-11-28 10:00:00 UTC to ...`."""
    heading = store_heading(top.window, [instance.name for instance in top.instances])
    return f"{heading}  {moment(top.start)} to {moment(top.end)}"


def store_heading(window: StoreWindow, names: Sequence[str]) -> str:
    """Return the name of the file and the instances: `digests.db  px1, px2`."""
    return f"{printable(window.path.name)}  {listed_names(names)}"


TOP_OF_STORE: Shape[TopOfStore] = Shape(
    "digest top of a store",
    f"store since until instances {RANKING_KEYS}",
    store=lambda top: str(top.window.path),
    since=lambda top: top.start,
    until=lambda top: top.end,
    instances=lambda top: COUNTED.each(top.instances),
    **RANKING,
)
