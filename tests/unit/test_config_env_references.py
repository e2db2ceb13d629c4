import threading

import pytest

from proxyctl.config.env_references import SecretCommands, resolve
from proxyctl.config.files import ConfigFiles, Sources, load_project
from proxyctl.config.sources import UnreadableError
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


# -- commands --------------------------------------------------------------------------------------


def printed(folder, *words, seconds=10):
    """Return what a command prints as a secret."""
    commands = SecretCommands(seconds)
    return resolve({"command": words}, str(folder), is_secret=True, commands=commands)


def test_what_a_command_prints(tmp_path):
    (tmp_path / "program").write_text("#!/bin/sh\npwd\n")
    (tmp_path / "program").chmod(0o755)
    assert printed(tmp_path, "echo", "$HOME; echo *") == "$HOME; echo *"
    assert printed(tmp_path, "printf", "one\\n") == "one"
    assert printed(tmp_path, "printf", "\\377") == "\udcff"
    assert printed(tmp_path, "./program") == str(tmp_path.resolve())
    assert printed("", "sh", "-c", "cat; echo its stdin is empty") == "its stdin is empty"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["sh", "-c", "echo sesame; printf ' no\\n\\n token\\n' >&2; exit 3"],
            "sh: the command exited with 3: no token",
        ),
        (["sh", "-c", "echo sesame; exit 3"], "sh: the command exited with 3"),
        (["sh", "-c", "echo sesame; sleep 60"], "sh: the command did not finish within 0.3 s"),
        (["sh", "-c", "yes sesame | head -c 2000000"], "sh: the command printed more than 1 MiB"),
        (["no-such-program"], "no-such-program: no such file or directory"),
        (["./"], "./: permission denied"),
        (["true"], "the output of true is empty"),
        (["printf", "two\\n\\n"], "printf printed several lines"),
        (["echo", "\0"], "echo: a character that a command line cannot contain"),
    ],
)
def test_a_command_that_fails(tmp_path, words, message):
    with pytest.raises(UnreadableError) as caught:
        printed(tmp_path, *words, seconds=0.3 if "sleep" in words[-1] else 30)
    assert caught.value.message == message
    assert caught.value.fix


def test_only_the_end_of_a_long_stderr_is_repeated(tmp_path):
    script = "yes a lot of words | head -c 200000 >&2; echo the end >&2; exit 1"
    with pytest.raises(UnreadableError) as caught:
        printed(tmp_path, "sh", "-c", script)
    assert caught.value.message.endswith("the end")
    assert len(caught.value.message) < 5000


COMMANDED = """
instances:
  - {name: a, host: h, password: {command: [sh, count.sh, one]}}
  - {name: b, host: h, password: {command: [sh, count.sh, two]}}
mysql_users:
  - {username: app, password: {command: [sh, count.sh, one]}}
  - {username: other, password: {command: [sh, count.sh, one]}}
variables:
  mysql-monitor_password: {command: [sh, count.sh, one]}
"""


@pytest.fixture
def counted(tmp_path):
    """Files whose command adds its argument to `runs` and prints it."""
    write(tmp_path, COMMANDED, count__sh="echo $1 >> runs; echo $1\n")
    return tmp_path


def runs(folder):
    path = folder / "runs"
    return path.read_text().split() if path.exists() else []


def test_a_command_runs_once_for_all_that_use_it(counted):
    files = ConfigFiles(Sources((str(counted / "proxyctl.yaml"),)))
    a, b = files.instances()
    assert runs(counted) == []
    threads = [threading.Thread(target=a.password) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (a.password(), b.password()) == ("one", "two")
    project = files.with_vars({"zone": "a"}).project()
    assert row(project.desired.tables["mysql_users"], "other", 1)["password"] == "one"
    assert files.project(takes_dead_rules=True).instances[1].password() == "two"
    assert runs(counted) == ["one", "two"]


def test_a_command_that_fails_runs_once(counted):
    (counted / "count.sh").write_text("echo $1 >> runs; exit 1\n")
    with pytest.raises(ConfigError) as caught:
        load_project(Sources((str(counted / "proxyctl.yaml"),)))
    assert len(caught.value.mistakes) == 3
    assert runs(counted) == ["one"]


def test_without_need_of_secrets_no_command_runs(counted):
    sources = Sources((str(counted / "proxyctl.yaml"),))
    for options in ({"needs_secrets": False}, {"runs_commands": False}):
        project = load_project(sources, **options)
        assert len(project.desired.tables["mysql_users"].rows) == 2
        assert not any(instance.has_plain_password for instance in project.instances)
    assert runs(counted) == []


def test_restricted_paths_hold_for_commands(counted):
    sources = Sources((str(counted),), restrict_paths=True)
    for options in ({}, {"runs_commands": False}):
        with pytest.raises(ConfigError) as caught:
            load_project(sources, **options)
        assert {m.message for m in caught.value.mistakes} == {
            "a command may read and do anything, so --restrict-paths refuses it"
        }
    files = ConfigFiles(sources)
    with pytest.raises(ConfigError, match="1 mistake"):
        files.instances()[0].password()
    assert files.project(needs_secrets=False).desired.tables
    assert runs(counted) == []
