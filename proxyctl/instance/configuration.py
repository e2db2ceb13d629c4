"""What an instance holds in one layer, as one configuration."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_layouts, read_rows
from proxyctl.state.configuration import Configuration, Held, variables_of
from proxyctl.state.row import Layer


def read_configuration(
    client: AdminClient, layer: Layer, tables: Iterable[str] | None = None
) -> Configuration:
    """Return a layer as it stands. Sends SELECTs only.

    `tables`: what to read of it, by catalogue name; all, if not given. Those that this instance
    does not have are left out. Raises: InstanceError.
    """
    layouts = read_layouts(client)
    held: dict[str, Held] = {}
    variables: dict[str, str] = {}
    for name in layouts if tables is None else tables:
        if name not in layouts:
            continue
        rows = read_rows(client, layouts[name], layer)
        if layouts[name].table.prefix is not None:
            variables |= variables_of(rows.values())
        else:
            held[name] = Held(layouts[name], rows)
    return Configuration(client.version, held, variables)
