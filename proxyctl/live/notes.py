"""What one has to know to read the live view."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.digests.counting import NOT_COUNTING
from proxyctl.digests.units import size_text, time_text
from proxyctl.live.view import View


def notes_of(view: View) -> Iterator[str]:
    """Yield a sentence each, what is gravest first."""
    if view.was_restarted:
        yield "ProxySQL was restarted: rates begin again"
    elif view.rules.was_reloaded:
        yield "rules were loaded: their hits began at 0 again"
    digests, state = view.digests, view.digest_state
    copy = f"one look takes ProxySQL about {time_text(state.look_s * 1_000_000)}"
    if not state.is_on:
        yield NOT_COUNTING
    if state.every_s is None:
        yield f"digests are not read: {size_text(state.memory)}, {copy}; see digest top"
    elif state.is_rare:
        yield f"digests are read every {state.every_s:.0f} s: {copy}"
    if digests.was_cleared:
        yield "somebody cleared the digest counters: they began at 0 again"
    if digests.is_cut:
        yield f"{digests.busy:,} digest entries were hit: of those with most time there are rates"
