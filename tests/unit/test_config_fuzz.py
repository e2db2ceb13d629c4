"""Whatever stands in a file, the answer is a project or a list of mistakes, never another error."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from proxyctl.catalog import parse_version
from proxyctl.config.json_schema import json_schema
from proxyctl.config.project import Sources, load_project
from proxyctl.errors import ConfigError
from tests.fuzz.any_file import any_files

SCHEMA = Draft202012Validator(json_schema())


def load_or_error(sources, version):
    try:
        return load_project(sources, version=version)
    except ConfigError as error:
        return error


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_files, st.sampled_from(["2.4.0", "2.7.1", "3.0.12"]))
def test_any_file_gives_a_project_or_mistakes(tmp_path, content, version):
    path = tmp_path / "proxyctl.yaml"
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    found = load_or_error(Sources((str(path),)), parse_version(version))
    if isinstance(found, ConfigError):
        assert all(m.line for m in found.mistakes), [m.text() for m in found.mistakes]
        return
    # What an editor underlines is what `validate` refuses.
    assert [error.message for error in SCHEMA.iter_errors(content)] == []
    for table in found.desired.tables.values():
        for key, row in table.rows.items():
            assert len(row) == len(table.layout.columns)
            assert table.where[key].line
