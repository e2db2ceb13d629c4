import json

from proxyctl.catalog import TABLES
from proxyctl.catalog.variables import READ_ONLY, VARIABLES
from proxyctl.config.schema import DIALECT, json_schema
from proxyctl.config.sections import SPECIAL, TABLE_SECTIONS

SCHEMA = json_schema()


def references_in(schema):
    if isinstance(schema, dict):
        yield from (v for k, v in schema.items() if k == "$ref" and isinstance(v, str))
        for value in schema.values():
            yield from references_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references_in(value)


def test_it_is_plain_json():
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"] == DIALECT


def test_every_section_is_in_it_and_no_other_key_is_allowed():
    assert set(SCHEMA["properties"]) == {*SPECIAL, *TABLE_SECTIONS}
    assert SCHEMA["additionalProperties"] is False
    assert all("description" in section for section in SCHEMA["properties"].values())


def test_every_reference_leads_somewhere():
    found = set(references_in(SCHEMA))
    assert {f"#/$defs/{name}" for name in SCHEMA["$defs"]} == found


def test_every_column_of_every_version_is_in_it():
    for name in TABLE_SECTIONS:
        columns = {column.name for column in TABLES[name].columns}
        assert set(SCHEMA["$defs"][name]["properties"]) == columns
        assert SCHEMA["$defs"][name]["additionalProperties"] is False


def test_every_variable_is_in_it_and_no_secret_default():
    variables = SCHEMA["properties"]["variables"]["properties"]
    assert set(variables) == set(VARIABLES) - READ_ONLY
    assert variables["mysql-threads"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 255,
        "description": "default '4'",
    }
    assert "description" not in variables["mysql-monitor_password"]


def test_ranges_and_required_keys_come_along():
    rules = SCHEMA["$defs"]["mysql_query_rules"]
    assert rules["required"] == ["rule_id"]
    cache_ttl = rules["properties"]["cache_ttl"]["anyOf"]
    assert {"type": "integer", "minimum": 1, "maximum": 2147483647} in cache_ttl
    assert {"type": "null"} in cache_ttl
