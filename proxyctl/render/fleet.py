"""Texts about a fleet that all commands share: names, counts, instances that could not be read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from proxyctl.fleet.failed import Failed
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.style import Style, listed_names, named_address
from proxyctl.text import counted, printable

if TYPE_CHECKING:
    from proxyctl.stats.top.model import CountedInstance

FAILED: Shape[Failed] = Shape(
    "instance that could not be read",
    "name address error exit_code",
    error=lambda failed: "\n".join(failed.error.lines()),
    exit_code=lambda failed: int(failed.error.exit_code),
)
READ: Shape[CountedInstance] = Shape("instance that was read", f"{INSTANCE} taken_at")


def instances_text(names: Sequence[str]) -> str:
    """Return the heading over sums of many instances: `3 instances: px1, px2, px3`."""
    return f"{counted(len(names), 'instance')}: {listed_names(names)}"


def alike_text(names: Sequence[str], version: str) -> str:
    """Return the heading over the report that several instances share."""
    return f"{listed_names(names)}  {len(names)} instances alike, ProxySQL {printable(version)}"


def counts_line(read: int, parts: Sequence[str], failed: Sequence[Failed]) -> str:
    """Return the last line of a fleet's report: `Fleet of 3 instances: 2 in sync, ...`.

    `parts`: the counts of the `read` instances that were read.
    """
    parts = [*parts, *_unread(failed)]
    return f"Fleet of {counted(read + len(failed), 'instance')}: {', '.join(parts)}."


def _unread(failed: Sequence[Failed]) -> list[str]:
    names = [failure.name for failure in failed]
    return [f"{len(names)} not read: {listed_names(names)}"] if names else []


def states_line(
    names_by_state: Mapping[str, Sequence[str]],
    failed: Sequence[Failed],
    *,
    counted_only: Collection[str] = (),
) -> str:
    """Return the last line about instances that a command changed: `Fleet of 3 instances: ...`.

    `names_by_state`: the instances of each state, in the order to show. `counted_only`: the states
    whose instances are counted and not named.
    """
    parts = [
        f"{len(names)} {state}{'' if state in counted_only else f': {listed_names(names)}'}"
        for state, names in names_by_state.items()
        if names
    ]
    parts += _unread(failed)
    count = counted(sum(map(len, names_by_state.values())) + len(failed), "instance")
    return f"Fleet of {count}: {'; '.join(parts)}."


def failures(instances: Sequence[Failed], style: Style) -> Iterator[str]:
    """Yield the lines about instances that could not be read."""
    for failed in instances:
        message, *details = failed.error.lines()
        yield named_address(failed.name, failed.address)
        first, *further = style.line(printable(f"error: {message}"))
        yield first.replace("error:", style("refuse", "error:"), 1)
        yield from further
        for line in details:
            yield from style.line(printable(line))
        yield ""
