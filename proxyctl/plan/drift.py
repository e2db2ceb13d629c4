"""Drift: which layers of an instance differ from the files, and what each pattern means. Pure.

Only the layers are judged: who made a change, and when, cannot be proven afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

from proxyctl.catalog import TABLES, Layout, Role
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.plan.change import Change, action_of
from proxyctl.proxysql.compare import Difference, differing
from proxyctl.proxysql.load_image import runtime_image
from proxyctl.rows.row import KEEP, Layer


class Pattern(NamedTuple):
    """A pattern of differing layers: a name for machines, and a sentence for people."""

    name: str
    """The name, such as `not_saved`."""
    text: str
    """The sentence."""


_MEMORY, _RUNTIME, _DISK = Layer.MEMORY, Layer.RUNTIME, Layer.DISK


PATTERNS = {
    frozenset({_MEMORY}): Pattern("memory", "MEMORY was edited and not loaded"),
    frozenset({_RUNTIME}): Pattern(
        "runtime", "RUNTIME alone differs: what MEMORY and DISK hold is not loaded"
    ),
    frozenset({_DISK}): Pattern("disk", "DISK alone differs: a restart brings it to RUNTIME"),
    frozenset({_MEMORY, _RUNTIME}): Pattern(
        "not_saved", "MEMORY and RUNTIME were changed and not saved: a restart reverts them"
    ),
    frozenset({_MEMORY, _DISK}): Pattern(
        "not_loaded", "MEMORY and DISK differ, RUNTIME does not: a LOAD or a restart publishes them"
    ),
    frozenset({_RUNTIME, _DISK}): Pattern(
        "memory_agrees", "only MEMORY matches the files: it was neither loaded nor saved"
    ),
    frozenset(Layer): Pattern("everywhere", "all layers differ"),
}
"""The pattern of each set of layers that differ from the files."""


RESTART_ONLY_PATTERN = Pattern("restart_only", "DISK differs: it is read at a restart")
"""The pattern of variables that ProxySQL reads at a restart: only their DISK is compared."""


def pattern_of(change: Change) -> Pattern:
    """Return the pattern of a row or a variable that differs."""
    if TABLES[change.table].prefix is not None and change.key[0] in RESTART_ONLY:
        return RESTART_ONLY_PATTERN
    return PATTERNS[frozenset(change.layers)]


def elsewhere(change: Change) -> list[Change]:
    """Return the rows of other layers that equal neither the row of the first nor the files.

    Shape: one change per layer, or one for two layers with the same row.
    """
    layout, (first, *further) = change.layout, change.differences
    changes: list[Change] = []
    for layer, difference in zip(change.layers[1:], further, strict=True):
        at_runtime = difference
        if change.layers[0] is Layer.RUNTIME:
            at_runtime = _after_load(layout, difference)
        if not _is_different(layout, first, at_runtime):
            continue
        for position, known in enumerate(changes):
            if not _is_different(layout, known.differences[0], difference):
                layers = (*known.layers, layer)
                changes[position] = known._replace(
                    layers=layers, differences=(*known.differences, difference)
                )
                break
        else:
            action = action_of(difference)
            changes.append(
                change._replace(action=action, layers=(layer,), differences=(difference,))
            )
    return changes


def _after_load(layout: Layout, difference: Difference) -> Difference:
    """Return the difference of MEMORY or DISK after a LOAD of its row.

    A row that the LOAD drops becomes absent. An OFFLINE_HARD server stays: if the files do not set
    its status, only its other columns differ.
    """
    row = difference.current
    if row is None or layout.table.prefix is not None:
        return difference
    loaded = runtime_image(layout, {difference.key: row}).get(difference.key)
    if loaded is None:
        is_server = layout.table.role is Role.SERVERS
        return difference if is_server else difference._replace(current=None)
    return difference._replace(current=tuple(None if cell is KEEP else cell for cell in loaded))


def _is_different(layout: Layout, first: Difference, second: Difference) -> bool:
    """Return whether two layers differ from the files in different ways.

    For rows in no file, only their presence counts.
    """
    if first.desired is None or second.desired is None:
        return False
    if first.current is None or second.current is None:
        return (first.current is None) != (second.current is None)
    columns = differing(layout, first.current, second.current)
    return bool({*first.columns, *second.columns} & {*columns})
