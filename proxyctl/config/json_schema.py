"""The JSON Schema of the files, for editors, made from the models that validate them.

The schema covers every table and column of every ProxySQL version: an editor does not know the
instance. It holds keys, types and ranges; `validate` checks rules about several values together.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import TypeAdapter

from proxyctl.catalog import TABLES, Column, Layout, Variable, VariableKind, parse_version
from proxyctl.catalog.variable_rules import bounds, runtime_text
from proxyctl.catalog.variables import CHOICES, READ_ONLY, STEPS, VARIABLES
from proxyctl.config.columns import SecretText, TextValue, row_type
from proxyctl.config.context import SPECIAL, TABLE_SECTIONS
from proxyctl.config.keys import KeyDoc, TableDoc, table_doc, variable_doc
from proxyctl.config.models import section_type
from proxyctl.config.section_keys import PLACES, newest_layouts, section_doc


def schema_text() -> str:
    """Return the schema as a file."""
    return json.dumps(json_schema(), indent=2) + "\n"


def json_schema() -> dict[str, Any]:
    """Return the schema of one file. Shape: as pydantic makes it, with all `$defs` at the top."""
    layouts = newest_layouts()
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    for name, description in SPECIAL.items():
        if name == "variables":
            section = _variables(definitions)
        else:
            section = _hoisted(TypeAdapter(section_type(name, layouts)), definitions)
        properties[name] = {"description": description, **section}
    for name in TABLE_SECTIONS:
        properties[name] = _table(layouts[name], definitions)
    _describe_columns(definitions)
    _describe_keys(properties, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "proxyctl",
        "description": "The configuration of a ProxySQL, as proxyctl reads it.",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "$defs": dict(sorted(definitions.items())),
    }


def _hoisted(adapter: TypeAdapter[Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type. Changes: definitions, to which it adds the schema's own."""
    schema = adapter.json_schema(mode="validation")
    definitions.update(schema.pop("$defs", {}))
    return schema


def _table(layout: Layout, definitions: dict[str, Any]) -> dict[str, Any]:
    table = layout.table

    def required(column: Column) -> bool:
        # One version requires a column that another lacks, such as interval_ms of restapi_routes.
        is_old = parse_version(column.since) <= parse_version(table.since)
        return column.is_required and is_old and column.until is None

    kind = row_type(layout.name, layout.columns, required=required)
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    definitions[layout.name] = _hoisted(adapter, definitions)
    files = [
        {
            "type": "object",
            "additionalProperties": False,
            "required": [kind],
            "properties": {
                kind: {"type": "string", "minLength": 1, "description": "Relative to this file."}
            },
        }
        for kind in ("csv", "jsonl")
    ]
    rows = {"type": "array", "items": {"$ref": f"#/$defs/{layout.name}"}}
    return {"description": _description(table_doc(table)), "anyOf": [rows, *files]}


def _describe_columns(definitions: dict[str, Any]) -> None:
    """Say at each column of a table what it does. Changes: definitions."""
    for name in TABLE_SECTIONS:
        for column, doc in table_doc(TABLES[name]).columns.items():
            definitions[name]["properties"][column]["description"] = _description(doc)


def _describe_keys(properties: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Say at each key of the other sections what it does. Changes: both."""
    places = {place: definitions[title] for title, place in PLACES.items()}
    for section in SPECIAL:
        for key, doc in section_doc(section).columns.items():
            place, _, last = f"{section}.{key}".rpartition(".")
            mapping = places.get(place) or properties[place]
            mapping["properties"][last]["description"] = _description(doc)


def _description(key: KeyDoc | TableDoc) -> str:
    """Return what an editor shows where the pointer is on a key."""
    last = key.manual if isinstance(key, TableDoc) else "; ".join(key.facts)
    return "\n\n".join(filter(None, (key.sentence, last)))


def _variables(definitions: dict[str, Any]) -> dict[str, Any]:
    text = _hoisted(TypeAdapter(TextValue), definitions)
    secret = _hoisted(TypeAdapter(SecretText), definitions)
    names = {
        name: _variable(variable, secret if variable.secret else text)
        for name, variable in VARIABLES.items()
        if name not in READ_ONLY
    }
    return {
        "type": "object",
        "properties": names,
        "patternProperties": {"^pgsql-": {}},
        "additionalProperties": False,
    }


def _variable(variable: Variable, text: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any]
    match variable.kind:
        case VariableKind.BOOL:
            schema = {"anyOf": [{"type": "boolean"}, {"enum": [0, 1]}]}
        case VariableKind.INT:
            low, high = bounds(variable)
            schema = {"type": "integer", "minimum": low, "maximum": high}
            if variable.name in STEPS:
                schema = {"enum": list(STEPS[variable.name])}
        case VariableKind.TEXT:
            schema = dict(text)
            if variable.name in CHOICES:
                schema = _choices(variable.name, text)
    return {**schema, "description": _description(variable_doc(variable))}


def _choices(name: str, text: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a text with few values: the values in each spelling, or a reference."""
    spellings = {
        spelling: None
        for choice in CHOICES[name]
        for spelling in (choice, choice.lower())
        if runtime_text(name, spelling) is not None
    }
    references = [part for part in text["anyOf"] if "$ref" in part]
    return {"anyOf": [{"enum": list(spellings)}, *references]}
