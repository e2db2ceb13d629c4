"""The `hostgroups` section: names for numbers, and rows of mysql_hostgroup_attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proxyctl.catalog import MAX_INT
from proxyctl.config.context import Context, Part
from proxyctl.config.rows import RowPlace, TableRows, table_rows
from proxyctl.config.validation import check_items

_YAML_WORDS = frozenset(["true", "false", "null", "~", "yes", "no", "on", "off", "y", "n"])

ATTRIBUTES = "mysql_hostgroup_attributes"


@dataclass
class Hostgroups:
    """All hostgroup names, with the numbers in the context.

    Shape: `names` by number; `first` where each name was first given; `attributes` has a row, and
    where it stands, for each hostgroup with an attribute.
    """

    names: dict[int, str] = field(default_factory=dict)
    first: dict[str, Part] = field(default_factory=dict)
    attributes: list[tuple[dict[str, Any], RowPlace]] = field(default_factory=list)


def compile_hostgroups(parts: list[Part], context: Context) -> Hostgroups:
    """Return the names and attributes of all files. Changes: context, the numbers and mistakes."""
    result = Hostgroups()
    for part in parts:
        right = check_items(part, context)
        for name in part.value:
            first = result.first.setdefault(name, part)
            if first is not part:
                message = f"duplicate name (first defined at {first.where(name, of_key=True)})"
                context.note(part, (name,), message, of_key=True)
            elif name in right:
                _add(result, part, name, right[name], context)
            else:
                # Stands for the number: one mistake must not make a second one.
                context.hostgroups[name] = MAX_INT - len(context.hostgroups)
    return result


def _add(
    result: Hostgroups, part: Part, name: str, value: Mapping[str, Any], context: Context
) -> None:
    """Add one hostgroup. Changes: result, context."""
    number: int = value["id"]
    context.hostgroups[name] = number
    if not name.strip() or name.lstrip("-").isdigit() or name.lower() in _YAML_WORDS:
        message = "without quotes YAML readers take this name for a number, a boolean or null"
        context.note(part, (name,), message, "choose another name", of_key=True)
    other = result.names.setdefault(number, name)
    if other != name:
        first = result.first[other].where(other, "id")
        message = f"hostgroup {number} is already called {other!r}, at {first}"
        context.note(part, (name, "id"), message)
    if len(value) > 1:
        row = {key: item for key, item in value.items() if key != "id"}
        place = RowPlace(part, (name,), f"hostgroups {name}", renamed={"hostgroup_id": "id"})
        result.attributes.append(({"hostgroup_id": number, **row}, place))


def attribute_rows(hostgroups: Hostgroups, context: Context) -> TableRows | None:
    """Return the rows of mysql_hostgroup_attributes; None where there are none to manage."""
    layout = context.layouts.get(ATTRIBUTES)
    if layout is None or not hostgroups.attributes:
        return None
    return table_rows(layout, *zip(*hostgroups.attributes, strict=True))
