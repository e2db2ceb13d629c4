"""Encode results as JSON. A shape is the list of the keys of an object, written once.

The tables of docs/reference/json come from the shapes; `docs/json_keys.yaml` has the meaning of
every key. A field that no shape names is never published, since it may hold secrets. `FORMAT` rises
when the meaning of a key changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from operator import attrgetter, itemgetter
from pathlib import PurePath
from typing import Any, Final, Generic, Self, TypeVar

from proxyctl.errors import (
    ApplyError,
    ConfigError,
    InternalError,
    Mistake,
    ProxyctlError,
    RefusedError,
)
from proxyctl.rows.row import SENSITIVE, Secret

Thing = TypeVar("Thing")
FORMAT = 1
ABSENT: Final = object()
"""The value of a key that this object does not have."""
INSTANCE = "name address version"
"""The keys of a result that name its instance."""


def _masked(value: object) -> object:
    """Return a value, or a mapping of values, without the text of a reference."""
    if isinstance(value, Secret):
        return SENSITIVE
    if isinstance(value, dict) and any(isinstance(cell, Secret) for cell in value.values()):
        return {key: _masked(cell) for key, cell in value.items()}
    return value


class Shape(Generic[Thing]):
    """The keys of an object, in order, under the `name` that the documentation uses.

    `keys`: separated by blanks. A key's value is the attribute of the same name, or `computed` from
    the result.
    """

    base: Shape[Thing] | None = None
    """The shape that this one extends; None if it extends none."""

    def __init__(self, name: str, keys: str, /, **computed: Callable[[Thing], object]) -> None:
        self.name = name
        self.keys = keys.split()
        if unknown := computed.keys() - set(self.keys):
            raise InternalError(f"{', '.join(unknown)}: no key of {name}")
        self._values: dict[str, Callable[[Thing], object]] = {
            key: computed.get(key) or attrgetter(key) for key in self.keys
        }

    @classmethod
    def of_tuples(cls, name: str, keys: str, /) -> Self:
        """Return the shape of a plain tuple, one key per item."""
        items: dict[str, Callable[[Any], object]] = {
            key: itemgetter(position) for position, key in enumerate(keys.split())
        }
        return cls(name, keys, **items)

    def extended(
        self, name: str, keys: str, /, **computed: Callable[[Thing], object]
    ) -> Shape[Thing]:
        """Return a shape with these keys and further ones."""
        extended = Shape(name, f"{' '.join(self.keys)} {keys}", **self._values, **computed)
        extended.base = self
        return extended

    def encode(self, thing: Thing, **values: object) -> dict[str, object]:
        """Return a result as plain data. `values`: those that the result itself does not have."""
        if unknown := values.keys() - self._values.keys():
            raise InternalError(f"{', '.join(unknown)}: no key of {self.name}")
        encoded = {
            key: _masked(values[key] if key in values else value_of(thing))
            for key, value_of in self._values.items()
        }
        return {key: value for key, value in encoded.items() if value is not ABSENT}

    def each(self, things: Iterable[Thing]) -> list[dict[str, object]]:
        """Return results as a list of plain data."""
        return [self.encode(thing) for thing in things]

    def maybe(self, thing: Thing | None) -> dict[str, object] | None:
        """Return a result as plain data, None for None."""
        return None if thing is None else self.encode(thing)

    def document(self, thing: Thing, **values: object) -> str:
        """Return a result as a whole document."""
        return document(self.encode(thing, **values))


def document(content: Mapping[str, object]) -> str:
    """Return a whole document as text: `format`, then the content."""
    return json.dumps({"format": FORMAT, **content}, indent=2, default=_plain) + "\n"


def document_line(content: Mapping[str, object]) -> str:
    """Return a document as one line of text."""
    return json.dumps({"format": FORMAT, **content}, default=_plain) + "\n"


def _plain(value: object) -> object:
    match value:
        case Mapping():
            return dict(value)
        case datetime():
            return value.isoformat(timespec="seconds")
        case PurePath():
            return str(value)
    raise InternalError(f"{type(value).__name__} has no place in JSON")


# -- An error. Text output uses the error's own `lines`.


ERROR: Shape[ProxyctlError] = Shape(
    "error",
    "type message fix exit_code mistakes reasons layers",
    type=lambda error: type(error).__name__,
    message=str,
    exit_code=lambda error: int(error.exit_code),
    mistakes=lambda error: (
        MISTAKE.each(error.mistakes) if isinstance(error, ConfigError) else ABSENT
    ),
    reasons=lambda error: error.reasons if isinstance(error, RefusedError) else ABSENT,
    layers=lambda error: error.layers if isinstance(error, ApplyError) else ABSENT,
)
MISTAKE: Shape[Mistake] = Shape("mistake", "path line column key message fix")
