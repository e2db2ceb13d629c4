"""Any file gives a project or a list of mistakes, never another error or a secret."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from proxyctl.catalog import parse_version
from proxyctl.config.files import Sources, load_project
from proxyctl.config.json_schema import json_schema
from proxyctl.errors import ConfigError
from tests.support.any_file import any_files

SCHEMA = Draft202012Validator(json_schema())
SECRET = "s3cr3t-hunter2"
one_folder = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@one_folder
@given(any_files, st.sampled_from(["2.4.0", "2.7.1", "3.0.12"]))
def test_any_file_gives_a_project_or_mistakes(tmp_path, content, version):
    path = tmp_path / "proxyctl.yaml"
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    try:
        found = load_project(Sources((str(path),)), version=parse_version(version))
    except ConfigError as error:
        assert [mistake.text() for mistake in error.mistakes if not mistake.line] == []  # noqa: PT017
        return
    # What an editor underlines is what `validate` refuses.
    assert [error.message for error in SCHEMA.iter_errors(content)] == []
    for table in found.desired.tables.values():
        for key, row in table.rows.items():
            assert len(row) == len(table.layout.columns)
            assert table.where[key].line


references = st.sampled_from([{"env": "SECRET"}, {"env": "SECRET", "file": "x"}])
secrets = references | st.sampled_from(
    [
        SECRET,
        [SECRET],
        {"key": SECRET},
        *({"hex": f"{SECRET}{end}".encode().hex()} for end in "\0x"),
    ]
)
noise = st.sampled_from([1, -1, True, None, "", "x", 1.5, [], {}])
mixed = references | noise


def rows_of(columns, **required):
    return st.lists(
        st.fixed_dictionaries(required, optional=dict.fromkeys(columns.split(), mixed)), max_size=3
    )


VARIABLES = ["monitor_password", "default_authentication_plugin", "threads", "server_version", "x"]
files = st.fixed_dictionaries(
    {},
    optional={
        "mysql_users": rows_of(
            "default_hostgroup attributes frontend usename comment use_ssl",
            username=noise,
            password=secrets,
        ),
        "mysql_query_rules": rows_of(
            "match_digest client_addr digest re_modifiers error_msg destination_hostgroup",
            rule_id=mixed,
        ),
        "variables": st.dictionaries(
            st.sampled_from([f"mysql-{name}" for name in VARIABLES]), mixed
        ),
        "instances": rows_of("tls_ca", name=noise, host=noise, password=secrets),
    },
)


@one_folder
@given(files)
@example({"mysql_query_rules": [{"rule_id": 1, "re_modifiers": {"env": "SECRET"}}]})
def test_no_message_holds_a_secret(tmp_path, content):
    """Names from the environment are shown, as in a plan."""
    path = tmp_path / "proxyctl.yaml"
    path.write_text(json.dumps(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET", SECRET)
        try:
            project = load_project(Sources((str(path),)))
            text = repr(project.instances) + repr(project.desired.warnings)
        except ConfigError as error:
            text = "\n".join(error.lines())
    assert SECRET not in text
