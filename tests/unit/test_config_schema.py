import pytest
from jsonschema import Draft202012Validator

from proxyctl.catalog import TABLES
from proxyctl.catalog.sentences import column_sentence, manual, table_sentence
from proxyctl.catalog.variables import READ_ONLY, VARIABLES
from proxyctl.config.context import SPECIAL, TABLE_SECTIONS
from proxyctl.config.documents import read_documents, without_marks
from proxyctl.config.files import Sources, load_project
from proxyctl.config.json_schema import json_schema
from proxyctl.config.mistakes import Mistakes
from proxyctl.config.section_keys import PLACES
from proxyctl.config.section_sentences import SENTENCES
from proxyctl.config.yaml import read_yaml
from proxyctl.errors import ConfigError
from tests.support.paths import ROOT

SCHEMA = json_schema()


def references_in(schema):
    if isinstance(schema, dict):
        yield from (v for k, v in schema.items() if k == "$ref" and isinstance(v, str))
        for value in schema.values():
            yield from references_in(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references_in(value)


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


def test_every_variable_is_in_it():
    variables = SCHEMA["properties"]["variables"]["properties"]
    assert set(variables) == set(VARIABLES) - READ_ONLY
    assert variables["mysql-threads"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 255,
        "description": (
            "Threads that serve clients. More threads use more processor cores.\n\n"
            "an integer from 1 to 255; default `4`; takes effect at a restart"
        ),
    }


def test_every_column_and_section_says_what_it_does():
    for name in TABLE_SECTIONS:
        properties = SCHEMA["$defs"][name]["properties"]
        for column in properties:
            sentence = column_sentence(name, column)
            assert properties[column]["description"].startswith(f"{sentence}\n\n")
        section = SCHEMA["properties"][name]["description"]
        assert section == f"{table_sentence(name)}\n\n{manual(name)}"


@pytest.mark.parametrize(
    ("definition", "column", "table"),
    [
        ("hostgroup", "max_num_online_servers", "mysql_hostgroup_attributes"),
        ("pxc_cluster", "max_writers", "mysql_galera_hostgroups"),
        ("pxc_node", "weight", "mysql_servers"),
        ("pxc_node_defaults", "weight", "mysql_servers"),
    ],
)
def test_columns_of_other_sections_say_what_they_do(definition, column, table):
    found = SCHEMA["$defs"][definition]["properties"][column]["description"]
    assert found == SCHEMA["$defs"][table]["properties"][column]["description"]


def test_every_other_key_says_what_it_does():
    mappings = [SCHEMA["properties"][name] for name in ("guards", "lint")]
    mappings += [SCHEMA["$defs"][definition] for definition in PLACES]
    described = [
        of.get("description") for mapping in mappings for of in mapping["properties"].values()
    ]
    assert len(described) > len(SENTENCES)
    assert all(described)
    assert not any("](" in text for text in described), "a link of the pages"


def test_ranges_and_required_keys_come_along():
    variables = SCHEMA["properties"]["variables"]["properties"]
    assert variables["mysql-set_parser_algorithm"]["maximum"] == 3  # from 3.0.9 on
    rules = SCHEMA["$defs"]["mysql_query_rules"]
    assert rules["required"] == ["rule_id"]
    cache_ttl = rules["properties"]["cache_ttl"]["anyOf"]
    assert {"type": "integer", "minimum": 1, "maximum": 2147483647} in cache_ttl
    assert {"type": "null"} in cache_ttl


VALIDATOR = Draft202012Validator(SCHEMA)


def document_in(path):
    with open(path, encoding="utf-8") as file:
        # As our own reader does: a plain word is text unless it is a number or true, false, null.
        return read_yaml(file.read(), str(path), Mistakes()).root


def errors_in(document):
    return [error.message for error in VALIDATOR.iter_errors(without_marks(document))]


VALID_FILES = sorted(
    path
    for folder in ("examples", "templates", "tests/golden")
    for path in (ROOT / folder).rglob("*.y*ml")
    if not {".github", "import"} & {*path.parts}
    and ("kubernetes" not in path.parts or path.parent.name == "config")  # manifests
    and (
        not (path.parent / "expected.txt").exists()
        or (path.parent / "expected.txt").read_text().startswith("no mistakes")
    )
)


TEMPLATES = sorted(
    path for folder in ("examples", "templates") for path in (ROOT / folder).rglob("*.j2")
)


@pytest.mark.parametrize("path", VALID_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_valid_file_fits(path):
    assert errors_in(document_in(path)) == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_template_renders_to_fits(path):
    (document,) = read_documents(Sources((str(path),)), Mistakes())
    assert errors_in(document.root) == []


@pytest.mark.parametrize(
    "text",
    [
        "manage: {mysql_query_rules: {flagIN: 1}}",
        "mysql_servers: {csv: ''}",
        "manage: {ignore: {mysql_query_rules: [rule_id]}}",
        "manage: {ignore: {mysql_query_rules: [nothing]}}",
        "mysql_servers: [{hostname: a, status: UP}]",
        "variables: {mysql-monitor_enabled: 2}",
    ],
)
def test_what_is_a_mistake_does_not_fit(tmp_path, text):
    path = tmp_path / "proxyctl.yaml"
    path.write_text(f"version: 1\n{text}\nmysql_query_rules: []\n")
    assert errors_in(document_in(path))
    with pytest.raises(ConfigError):
        load_project(Sources((str(path),)))
