"""The lines over the tables of the live view: the instance as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.render.live_numbers import UNKNOWN, bytes_text, rate_text, short_text
from proxyctl.stats.live.view import View
from proxyctl.text import printable

Part = tuple[str, str]
"""A label, and what it is the label of. Either can be empty."""

SEPARATOR = "  "


def instance_parts(view: View) -> list[Part]:
    """Return which instance it is, and since when it runs."""
    name = [("", printable(view.name))] if view.name != view.address else []
    uptime = view.totals.uptime_s
    return [
        *name,
        ("", printable(view.address)),
        ("ProxySQL", printable(view.version)),
        ("up", UNKNOWN if uptime is None else uptime_text(uptime)),
    ]


def load_parts(view: View) -> list[Part]:
    """Return how busy it is."""
    totals = view.totals
    return [
        ("queries", f"{rate_text(totals.queries_per_s)}/s"),
        ("slow", f"{rate_text(totals.slow_per_s)}/s"),
        ("clients", f"{short_text(totals.clients)}, {short_text(totals.clients_busy)} active"),
        ("servers", f"{short_text(totals.conn_used)} used, {short_text(totals.conn_free)} free"),
    ]


def size_parts(view: View) -> list[Part]:
    """Return what flows through it, and what it takes."""
    totals = view.totals
    return [
        ("in", f"{bytes_text(totals.in_per_s)}/s"),
        ("out", f"{bytes_text(totals.out_per_s)}/s"),
        ("transactions", short_text(totals.transactions)),
        ("memory", bytes_text(totals.memory)),
        ("digests", bytes_text(totals.digest_memory)),
    ]


def fitting(parts: Iterable[Part], width: int) -> list[Part]:
    """Return the parts for which a line has room, the first ones at any rate."""
    found: list[Part] = []
    for label, text in parts:
        width -= len(f"{label} {text}".strip()) + (len(SEPARATOR) if found else 0)
        if found and width < 0:
            break
        found.append((label, text))
    return found


def uptime_text(seconds: int) -> str:
    """Return a time of seconds, minutes, hours or days, with the next smaller unit."""
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    if days:
        return f"{days} d {hours} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
