"""No message ever holds a secret, whatever else is wrong with the file.

Secret is what stands in a secret column or variable. A name that comes from the environment is
shown like any other: the plan has to show it as well.
"""

import json

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from proxyctl.config.project import Sources, load_project
from proxyctl.errors import ConfigError

SECRET = "s3cr3t-hunter2"

secrets = st.sampled_from(
    [
        SECRET,
        [SECRET],
        {"key": SECRET},
        {"env": "PROXYCTL_TEST_SECRET"},
        {"env": "PROXYCTL_TEST_SECRET", "file": "x"},
        {"hex": (SECRET + "\0").encode().hex()},
        {"hex": SECRET.encode().hex()},
    ]
)
references = secrets.filter(lambda value: isinstance(value, dict) and "env" in value)
noise = st.sampled_from([1, -1, True, None, "", "x", 1.5, [], {}])
users = st.fixed_dictionaries(
    {"username": noise, "password": secrets},
    optional={
        "default_hostgroup": references | noise,
        "attributes": noise,
        "frontend": noise,
        "usename": noise,
        "comment": references | noise,
        "use_ssl": references | noise,
    },
)
rules = st.fixed_dictionaries(
    {"rule_id": noise | references},
    optional={
        "match_digest": references | noise,
        "client_addr": references,
        "digest": references,
        "re_modifiers": references,
        "error_msg": references,
        "destination_hostgroup": references | noise,
    },
)
variables = st.dictionaries(
    st.sampled_from(
        [
            "mysql-monitor_password",
            "admin-cluster_password",
            "mysql-default_authentication_plugin",
            "mysql-threads",
            "mysql-server_version",
            "mysql-x",
        ]
    ),
    references | noise,
)
files = st.fixed_dictionaries(
    {},
    optional={
        "mysql_users": st.lists(users, max_size=3),
        "mysql_query_rules": st.lists(rules, max_size=3),
        "variables": variables,
        "instances": st.lists(
            st.fixed_dictionaries({"name": noise, "host": noise, "password": secrets}), max_size=2
        ),
    },
)


def said_about(path):
    try:
        project = load_project(Sources((path,)))
    except ConfigError as error:
        return "\n".join(error.lines())
    return repr(project.instances) + repr(project.desired.warnings)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files)
@example({"mysql_query_rules": [{"rule_id": 1, "re_modifiers": {"env": "PROXYCTL_TEST_SECRET"}}]})
def test_no_message_holds_a_secret(tmp_path, content):
    path = tmp_path / "proxyctl.yaml"
    path.write_text(json.dumps(content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROXYCTL_TEST_SECRET", SECRET)
        assert SECRET not in said_about(str(path))
