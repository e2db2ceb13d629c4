"""The character set or collation that files do not name, although it goes with one they name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from proxyctl.catalog.variable_effects import go_together
from proxyctl.catalog.variable_rules import CHARSET, COLLATION
from proxyctl.state import DesiredTable, Key, Layer, Rows, Scope


def without_guess(desired: DesiredTable, read: Callable[[Layer], Rows]) -> DesiredTable:
    """Return the desired variables without a guessed one that the instance does not need.

    Files that name only a character set, or only a collation, are compiled with the default of the
    other. If the instance has another value that goes with the named one, that was somebody's
    choice and stays. If a layer has one that does not go with it, all layers get the value of
    RUNTIME where that one does, else the default.
    """
    for guessed, named in ((COLLATION, CHARSET), (CHARSET, COLLATION)):
        key = (guessed,)
        where = desired.where.get(key)
        if where is None or where.origin != named:
            continue
        text = str(desired.rows[(named,)][1])
        held = {layer: _text(read(layer), key) for layer in Layer}
        fits = {layer: go_together({named: text, guessed: held[layer]}) for layer in Layer}
        if all(fits.values()):
            return _without(desired, key)
        if fits[Layer.RUNTIME]:
            rows = {**desired.rows, key: (guessed, held[Layer.RUNTIME])}
            return replace(desired, rows=rows)
    return desired


def _text(rows: Rows, key: Key) -> str:
    return str(rows[key][1]) if key in rows else ""


def _without(desired: DesiredTable, key: Key) -> DesiredTable:
    rows = {other: row for other, row in desired.rows.items() if other != key}
    text = desired.scope.text if desired.scope else ""
    scope = Scope(lambda other: other != key and desired.owns(other), text)
    return replace(desired, rows=rows, scope=scope)
