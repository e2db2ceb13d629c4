import pytest

from proxyctl.config.env_references import resolve
from proxyctl.config.files import Sources, load_project
from proxyctl.errors import ConfigError
from tests.unit.config_files import load, mistakes, row, write


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ({"env": "APP_PASSWORD"}, " as it is\n"),
        ({"file": "one"}, "from a file"),
        ({"file": "two"}, "two lines\n"),
        ({"file": "bytes"}, "\udcff\x00"),
        ({"hex": "ff 41"}, "\udcffA"),
    ],
)
def test_the_value_of_a_reference(tmp_path, monkeypatch, reference, text):
    monkeypatch.setenv("APP_PASSWORD", " as it is\n")
    (tmp_path / "one").write_bytes(b"from a file\n")
    (tmp_path / "two").write_bytes(b"two lines\n\r\n")
    (tmp_path / "bytes").write_bytes(b"\xff\x00")
    assert resolve(reference, str(tmp_path)) == text


def test_any_text_may_be_a_reference(tmp_path, monkeypatch):
    monkeypatch.setenv("HOST", "db1")
    text = """
mysql_servers: [{hostgroup_id: 1, hostname: {env: HOST}, comment: {hex: "e9"}}]
mysql_users: [{username: app, password: {file: password}}]
variables: {mysql-monitor_password: {file: password}}
"""
    tables = load(tmp_path, text, password="hunter2\n").desired.tables
    assert row(tables["mysql_servers"], 1, "db1", 3306)["comment"] == "\udce9"
    assert row(tables["mysql_users"], "app", 1)["password"] == "hunter2"
    assert tables["mysql_variables"].rows[("mysql-monitor_password",)][1] == "hunter2"


def test_the_password_of_an_instance_is_resolved_when_it_is_needed(tmp_path, monkeypatch):
    monkeypatch.delenv("ADMIN_PASSWORD", raising=False)
    path = write(
        tmp_path,
        "instances:\n"
        "  - {name: a, host: h, password: {env: ADMIN_PASSWORD}}\n"
        "  - {name: b, host: h, password: clear}\n"
        "  - {name: c, host: h}\n",
    )
    a, b, c = load_project(Sources((path,))).instances
    assert (b.password(), c.password()) == ("clear", None)
    with pytest.raises(ConfigError) as caught:
        a.password()
    assert caught.value.mistakes[0].line == 2
    monkeypatch.setenv("ADMIN_PASSWORD", "hunter2")
    assert a.password() == "hunter2"
    assert "hunter2" not in repr(a)
    assert "clear" not in repr(b)


def test_a_secret_that_somebody_forgot_to_fill_is_a_mistake(tmp_path, monkeypatch):
    monkeypatch.setenv("EMPTY", "")
    for text in (
        "mysql_users: [{username: app, password: {env: EMPTY}}]",
        "variables: {mysql-monitor_password: {env: EMPTY}}",
    ):
        (found,) = mistakes(tmp_path, text)
        assert found.endswith("password: the environment variable EMPTY is empty")
    (found,) = mistakes(
        tmp_path, "mysql_users: [{username: app, password: {file: none}}]", none="\n"
    )
    assert found.endswith("the file none is empty")
    (instance,) = load(
        tmp_path, "instances: [{name: a, host: h, password: {env: EMPTY}}]"
    ).instances
    with pytest.raises(ConfigError) as caught:
        instance.password()
    assert caught.value.mistakes[0].message == "the environment variable EMPTY is empty"
    rows = load(
        tmp_path, "mysql_users: [{username: app, password: '', comment: {env: EMPTY}}]"
    ).desired.tables["mysql_users"]
    assert row(rows, "app", 1)["password"] == ""
