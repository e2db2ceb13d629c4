"""What stands about keys of the special sections in the pages, the schema and `schema --key`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from proxyctl.catalog import MAX_INT, TABLES, Layout
from proxyctl.config.context import SPECIAL
from proxyctl.config.keys import KeyDoc, TableDoc, table_doc
from proxyctl.config.models import section_type
from proxyctl.config.section_sentences import SENTENCES

PLACES = {
    "InstanceModel": "instances",
    "hostgroup": "hostgroups",
    "pxc_cluster": "pxc_clusters",
    "pxc_node": "pxc_clusters.nodes",
    "pxc_node_defaults": "pxc_clusters.node_defaults",
    "ShardingModel": "sharding",
    "RoutingTestModel": "routing_tests",
    "Expectation": "routing_tests.expect",
    "PolicyModel": "policies",
    "MaxDeletes": "guards.max_deletes",
    "IgnoredFindings": "lint.ignore",
}
"""Definitions of the schema, and where in the files they stand."""

_TABLES = {
    "hostgroups": "mysql_hostgroup_attributes",
    "pxc_clusters": "mysql_galera_hostgroups",
    "pxc_clusters.nodes": "mysql_servers",
    "pxc_clusters.node_defaults": "mysql_servers",
}
"""Places with columns of a table."""

_PLURALS = {
    "text": "texts",
    "an integer": "integers",
    "a hostgroup": "hostgroups",
    "a mapping": "mappings",
}
_REFERENCES = ("EnvReference", "FileReference", "HexReference")
_SCALARS = ("variables", "manage", "version", "proxysql_version", "keep_fast_routing_alive")
"""Sections whose keys are no names of their own."""
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def newest_layouts() -> dict[str, Layout]:
    """Return each table with the columns of all versions, each in its newest form."""
    return {
        name: Layout(table, tuple({column.name: column for column in table.columns}.values()))
        for name, table in TABLES.items()
    }


def section_doc(name: str) -> TableDoc:
    """Return what is known about a special section; the texts have no links."""
    keys = {
        path.removeprefix(f"{name}."): replace(key, sentence=_LINK.sub(r"\1", key.sentence))
        for path, key in section_keys(name).items()
    }
    return TableDoc(name, SPECIAL[name], (), None, keys)


def section_keys(name: str) -> dict[str, KeyDoc]:
    """Return the keys of a section by their path, such as `guards.max_deletes.rows`."""
    if name in _SCALARS:
        return {}
    schema = TypeAdapter(section_type(name, newest_layouts())).json_schema()
    definitions: dict[str, Any] = schema.pop("$defs", {})
    parts = {name: schema} if "properties" in schema else {}
    parts |= {PLACES[title]: part for title, part in definitions.items() if title in PLACES}
    keys = {}
    for place in sorted(parts, key=lambda place: place.count(".")):
        for key in _keys(place, parts[place]):
            keys[key.name] = key
    return keys


def _keys(place: str, schema: dict[str, Any]) -> Iterator[KeyDoc]:
    """Yield the keys of a mapping, in the order of its model."""
    columns = table_doc(TABLES[_TABLES[place]]).columns if place in _TABLES else {}
    required = schema.get("required", ())
    for key, of in schema["properties"].items():
        path = f"{place}.{key}"
        if key in columns and path not in SENTENCES:
            facts = [fact for fact in columns[key].facts if fact != "required"]
            given = ["required"] if key in required else []
            yield replace(columns[key], name=path, facts=(*facts, *given))
        else:
            facts = [_words(of), _given(of, is_required=key in required)]
            yield KeyDoc(path, SENTENCES[path], tuple(filter(None, facts)), None)


def _words(schema: dict[str, Any]) -> str:
    """Return what a schema allows, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return "text" if name in _REFERENCES else "a mapping"
    options = schema.get("anyOf") or schema.get("oneOf") or []
    options = [option for option in options if option != {"type": "null"}]
    if options:
        words = list(dict.fromkeys(map(_words, options)))
        if words == ["an integer", "text"] and "minLength" in options[-1]:
            return "a hostgroup"
        return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{choice}`" for choice in schema["enum"])
    match schema.get("type"):
        case "integer":
            low, high = schema.get("minimum", 0), schema.get("maximum", MAX_INT)
            return "an integer" if high == MAX_INT else f"an integer from {low} to {high}"
        case "string":
            return "`FIRST-LAST`" if "pattern" in schema else "text"
        case "array":
            items = _words(schema["items"])
            return f"a list of {_PLURALS[items]}" if items in _PLURALS else f"a list, each {items}"
        case "object":
            return "a mapping"
        case "boolean":
            return "true or false"
        case _:
            return "any value"


def _given(schema: dict[str, Any], *, is_required: bool) -> str:
    if is_required:
        return "required"
    default = schema.get("default")
    if isinstance(default, bool):
        return f"default `{str(default).lower()}`"
    return f"default `{default}`" if isinstance(default, str | int) else ""
