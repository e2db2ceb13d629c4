"""From results to JSON. A shape is the list of the keys of an object, written once.

It writes the JSON, and the tables of docs/reference/json.md come from it: `docs/json_keys.yaml` has
the meaning of every key. A field of a result that no shape names is never published: it may hold
secrets. `FORMAT` rises when the meaning of a key changes.
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

Thing = TypeVar("Thing")
FORMAT = 1
ABSENT: Final = object()
"""The value of a key that this object does not have."""
INSTANCE = "name address version"
"""The keys of a result that say which instance it is about."""


class Shape(Generic[Thing]):
    """The keys of an object, in order; `name` is what the documentation calls it.

    `keys`: with blanks between them, as for a namedtuple. A key is the attribute of its name, or
    `computed` from the result. `base`: the shape that this one extends.
    """

    base: Shape[Thing] | None = None

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
        """Return the shape of a tuple that has no names: a key for each of its places."""
        places: dict[str, Callable[[Any], object]] = {
            key: itemgetter(place) for place, key in enumerate(keys.split())
        }
        return cls(name, keys, **places)

    def extended(
        self, name: str, keys: str, /, **computed: Callable[[Thing], object]
    ) -> Shape[Thing]:
        """Return a shape with further keys behind these."""
        longer = Shape(name, f"{' '.join(self.keys)} {keys}", **self._values, **computed)
        longer.base = self
        return longer

    def encode(self, thing: Thing, **given: object) -> dict[str, object]:
        """Return a result as plain data. `given`: values that the result itself does not have."""
        if unknown := given.keys() - self._values.keys():
            raise InternalError(f"{', '.join(unknown)}: no key of {self.name}")
        found = {
            key: given[key] if key in given else value(thing) for key, value in self._values.items()
        }
        return {key: value for key, value in found.items() if value is not ABSENT}

    def each(self, things: Iterable[Thing]) -> list[dict[str, object]]:
        """Return a sequence of results as plain data."""
        return [self.encode(thing) for thing in things]

    def maybe(self, thing: Thing | None) -> dict[str, object] | None:
        """Return a result as plain data, None where there is none."""
        return None if thing is None else self.encode(thing)

    def document(self, thing: Thing, **given: object) -> str:
        """Return a result as a whole document."""
        return document(self.encode(thing, **given))


def document(content: Mapping[str, object]) -> str:
    """Return a whole document as text: `format`, then the content."""
    return json.dumps({"format": FORMAT, **content}, indent=2, default=_plain) + "\n"


def _plain(value: object) -> object:
    """Return what JSON has no type for as one that it has."""
    match value:
        case Mapping():
            return dict(value)
        case datetime():
            return value.isoformat(timespec="seconds")
        case PurePath():
            return str(value)
    raise InternalError(f"{type(value).__name__} has no place in JSON")


# -- An error. For people its own `lines` are written.


ERROR: Shape[ProxyctlError] = Shape(
    "error",
    "type message fix exit_code mistakes reasons layers",
    type=lambda one: type(one).__name__,
    message=str,
    exit_code=lambda one: int(one.exit_code),
    mistakes=lambda one: MISTAKE.each(one.mistakes) if isinstance(one, ConfigError) else ABSENT,
    reasons=lambda one: one.reasons if isinstance(one, RefusedError) else ABSENT,
    layers=lambda one: one.layers if isinstance(one, ApplyError) else ABSENT,
)
MISTAKE: Shape[Mistake] = Shape("mistake", "path line column key message fix")
