"""Drift: which layers of an instance differ from the files, and what each pattern means. Pure.

Only the layers are judged: who made a change, and when, cannot be proven afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import RESTART_ONLY
from proxyctl.plan.change import Change
from proxyctl.rows.row import Layer


class Pattern(NamedTuple):
    """A pattern of differing layers: a name for machines, and a sentence for people."""

    name: str
    text: str


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
