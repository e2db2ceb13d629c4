"""The `hostgroups` section: names for numbers, and rows of mysql_hostgroup_attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from proxyctl.catalog import TABLES
from proxyctl.config.context import Context, Part
from proxyctl.config.rows import TableRows, YamlRow, compile_rows
from proxyctl.config.validation import check, other_versions
from proxyctl.state.row import Where

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
    attributes: list[tuple[dict[str, Any], YamlRow]] = field(default_factory=list)


def compile_hostgroups(parts: list[Part], context: Context) -> Hostgroups:
    """Return the names and attributes of all files. Changes: context, the numbers and mistakes."""
    result = Hostgroups()
    known: dict[str, Where] = {}
    table = TABLES[ATTRIBUTES]
    columns = {column.name: column for column in table.columns}
    for part in parts:
        instead = {"hostgroup_id": "the number of a hostgroup is its id"}
        unknown = other_versions(table, context, instead)
        _, wrong = check(part, context, columns=columns, unknown=unknown)
        bad = {keys[0] for keys in wrong}
        for name in part.value:
            if not context.claim_name(known, name, part, (name,), of_key=True):
                continue
            result.first[name] = part
            if name in bad:
                # The name is known all the same: one mistake must not make a second one.
                context.broken_hostgroups.add(name)
            else:
                _add(result, part, name, context)
    return result


def _add(result: Hostgroups, part: Part, name: str, context: Context) -> None:
    """Read one hostgroup. Changes: result, context."""
    value: dict[str, Any] = part.value[name]
    number: int = value["id"]
    context.hostgroups[name] = number
    if not name.strip() or name.lstrip("-").isdigit() or name.lower() in _YAML_WORDS:
        message = "without quotes YAML readers take this name for a number, a boolean or null"
        context.note(part, (name,), message, "choose another name", of_key=True)
    other = result.names.setdefault(number, name)
    if other != name:
        place = result.first[other].where(other, "id")
        message = f"hostgroup {number} is already called {other!r}, at {place}"
        context.note(part, (name, "id"), message)
    if len(value) > 1:
        row = {key: item for key, item in value.items() if key != "id"}
        renamed = {"hostgroup_id": "id"}
        found_at = YamlRow(part.document, (("hostgroups", name),), f"hostgroups {name}", renamed)
        result.attributes.append(({"hostgroup_id": number, **row}, found_at))


def attribute_rows(hostgroups: Hostgroups, context: Context) -> TableRows | None:
    """Return the rows of mysql_hostgroup_attributes; None where there are none to manage."""
    layout = context.layouts.get(ATTRIBUTES)
    if layout is None or not hostgroups.attributes:
        return None
    rows, places = zip(*hostgroups.attributes, strict=True)
    return compile_rows(layout, rows, places, context)
