"""Which rows plugins own: the ledger of ProxySQL 4.0, read into a form to ask. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from proxyctl.catalog import Layout, Value
from proxyctl.catalog.plugins import PluginObject, object_columns, object_type
from proxyctl.rows.row import KEEP, DesiredRow, Key

_USER_V2 = "mysql_user_v2"
"""A type of later sources, with the key `v2:BACKEND:FRONTEND:NAME`, the name in hexadecimal."""

_NUMBERED = (PluginObject.HOSTGROUP, PluginObject.RULE)


@dataclass(frozen=True)
class PluginLedger:
    """The objects that plugins own."""

    objects: Mapping[PluginObject, Mapping[Value, str]] = field(default_factory=dict)
    """The owner by type and key: a hostgroup or a rule_id, a user name, or an interface."""

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str, str]]) -> Self:
        """Return the ledger with these rows of owner, object_type and object_key.

        Raises: ValueError for an object that the ledger of no known source has.
        """
        objects: dict[PluginObject, dict[Value, str]] = {}
        for owner, type_name, key in rows:
            kind, value = _object(type_name, key)
            objects.setdefault(kind, {})[value] = owner
        return cls(objects)

    @property
    def plugins(self) -> tuple[str, ...]:
        """The names of the plugins that own anything."""
        return tuple(sorted({owner for held in self.objects.values() for owner in held.values()}))

    def owner_by_key(self, layout: Layout) -> Callable[[Key], str | None] | None:
        """Return the function that finds the owner of a row; None if no plugin owns rows there."""
        owners = self._owners(layout)
        return (lambda key: owners.get(key[0])) if owners else None

    def keys(self, layout: Layout) -> tuple[Value, ...]:
        """Return what the first key column of a table has in rows of plugins."""
        return tuple(self._owners(layout))

    def owner_of(self, layout: Layout, row: DesiredRow) -> str | None:
        """Return the plugin that owns the key of a row, or another hostgroup of its family."""
        owners = self._owners(layout)
        if not owners:
            return None
        cells = (row[layout.index[name]] for name in object_columns(layout))
        return next((owners[cell] for cell in cells if cell is not KEEP and cell in owners), None)

    def _owners(self, layout: Layout) -> Mapping[Value, str]:
        kind = object_type(layout.table)
        return {} if kind is None else self.objects.get(kind, {})


NO_PLUGINS = PluginLedger()


def _object(type_name: str, key: str) -> tuple[PluginObject, Value]:
    """Return an object of the ledger. Raises: ValueError."""
    if type_name == _USER_V2:
        match = re.fullmatch(r"v2:\d+:\d+:((?:[0-9A-Fa-f]{2})*)", key)
        if match is None:
            raise ValueError(f"{type_name} {key!r}")
        return PluginObject.USER, bytes.fromhex(match[1]).decode("utf-8", "surrogateescape")
    is_known = type_name in [*PluginObject]
    if not is_known or (type_name in _NUMBERED and not re.fullmatch(r"[0-9]{1,10}", key)):
        raise ValueError(f"{type_name} {key!r}")
    kind = PluginObject(type_name)
    return kind, int(key) if kind in _NUMBERED else key
