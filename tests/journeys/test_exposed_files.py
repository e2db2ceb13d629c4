"""A file with a password that everybody can read is warned about, once, with the way out."""

from __future__ import annotations

import pytest

from tests.journeys.story import FILES, plan
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.servers import Instance

CLEAR = [
    ("mysql_users: [{username: a, password: pw}]\n", "a.yaml"),
    ("variables: {mysql-monitor_password: pw}\n", "a.yaml"),
    ("variables: {admin-admin_credentials: 'admin:pw'}\n", "a.yaml"),
    ("instances: [{name: px, host: h, password: pw}]\n", "a.yaml"),
    ("{% set x = 1 %}mysql_users: [{username: 'u{{ x }}', password: pw}]\n", "a.yaml.j2"),
]

NOT_CLEAR = [
    ("mysql_users: [{username: a, password: {env: APP_PASSWORD}}]\n", "a.yaml"),
    (f"mysql_users: [{{username: a, password: '*{'A1' * 20}'}}]\n", "a.yaml"),
    ("mysql_users: [{username: a, password: ''}]\n", "a.yaml"),
    ("variables: {mysql-monitor_username: pw}\n", "a.yaml"),
    ("mysql_users: [{username: a, password: '{{ pw }}'}]\n", "a.yaml.j2"),
]


def warnings(found: Outcome) -> list[str]:
    return [line for line in found.err.splitlines() if "chmod 600" in line]


@pytest.mark.parametrize(("text", "name"), CLEAR)
def test_a_file_with_a_password_that_everybody_can_read(
    offline: Project, text: str, name: str
) -> None:
    offline.write(text, name)
    for mode, count in ((0o644, 1), (0o604, 1), (0o640, 0), (0o600, 0)):
        (offline.folder / name).chmod(mode)
        found = proxyctl("validate", "-f", name)
        assert found.code == 0, found.text
        assert len(warnings(found)) == count, (oct(mode), found.err)
    (offline.folder / name).chmod(0o644)
    assert warnings(proxyctl("validate", "-f", name)) == [
        f"warning: {name} holds a password in clear text, and every user of this machine can read"
        f" it: chmod 600 {name}"
    ]


@pytest.mark.parametrize(("text", "name"), NOT_CLEAR)
def test_a_file_without_one(offline: Project, text: str, name: str) -> None:
    offline.write(text, name)
    (offline.folder / name).chmod(0o644)
    variables = ("--var", "pw=given") if name.endswith(".j2") else ()
    found = proxyctl("validate", "-f", name, *variables)
    assert found.code == 0, found.text
    assert not warnings(found)


def test_files_that_a_file_names(offline: Project) -> None:
    offline.write("username,password\nb,clear\n", "users.csv")
    offline.write("clear\n", "one.password")
    offline.write('{"username": "c", "password": {"file": "one.password"}}\n', "users.jsonl")
    offline.write("mysql_users: {csv: users.csv}\n", "a.yaml")
    offline.write("mysql_users: {jsonl: users.jsonl}\n", "b.yaml")
    found = proxyctl("validate", "-f", "a.yaml", "-f", "b.yaml")
    assert found.code == 0, found.text
    said = warnings(found)
    assert [line.split()[1] for line in said] == ["users.csv", "one.password"]


def test_files_with_the_login(sandbox_project: Project, sandbox_instance: Instance) -> None:
    sandbox_project.write(FILES)
    sandbox_project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    sandbox_project.write("admin\n", "pass word")
    sandbox_project.write("[client]\nuser=admin\npassword=admin\n", "my.cnf")
    for option, name in (("--password-file", "pass word"), ("--defaults-file", "my.cnf")):
        (sandbox_project.folder / name).chmod(0o644)
        found = plan(option, name)
        assert found.code == 2, found.text
        assert len(warnings(found)) == 1
        assert found.err.startswith(f"warning: {name} holds a password")
        (sandbox_project.folder / name).chmod(0o600)
        assert not warnings(plan(option, name))
    assert "chmod 600 'pass word'" not in found.err
    sandbox_project.write("[client]\nuser=admin\n", "no-password.cnf")
    assert not warnings(plan("--defaults-file", "no-password.cnf"))


def test_once_a_file_however_often_it_is_read(
    sandbox_project: Project, sandbox_instance: Instance
) -> None:
    """`apply` reads under the lock again; instances with `vars` have the files parsed twice."""
    where = f"host: 127.0.0.1, port: {sandbox_instance.port}, user: admin, password: admin"
    sandbox_project.monkeypatch.delenv("PROXYCTL_HOST")
    sandbox_project.write(f"instances: [{{name: px, {where}, vars: {{a: 1}}}}]\n{FILES}")
    (sandbox_project.folder / "proxyctl.yaml").chmod(0o644)
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    assert len(warnings(found)) == 1
    for command in ("lint", "test", "explain", "drift"):
        arguments = (command, "SELECT 1") if command == "explain" else (command,)
        assert len(warnings(proxyctl(*arguments))) <= 1, command
