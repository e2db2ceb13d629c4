"""Files that the user may not read: an error names path and reason, and nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journeys.command_lines import CONNECTING, Asked
from tests.journeys.story import said
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.parameters import crossed
from tests.support.privileges import modes_count

FILES = "version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: db1}]\n"
OFFLINE = {name: (name,) for name in ("validate", "render")}


def run(*arguments: str) -> Outcome:
    with modes_count():
        return proxyctl(*arguments)


def a_file(folder: Path) -> tuple[str, ...]:
    (folder / "a.yaml").write_text(FILES)
    (folder / "a.yaml").chmod(0)
    return ("-f", "a.yaml")


def the_default_file(folder: Path) -> tuple[str, ...]:
    (folder / "proxyctl.yaml").write_text(FILES)
    (folder / "proxyctl.yaml").chmod(0)
    return ()


def one_file_of_a_folder(folder: Path) -> tuple[str, ...]:
    (folder / "conf").mkdir()
    (folder / "conf" / "a.yaml").write_text(FILES)
    (folder / "conf" / "b.yaml").write_text("version: 1\n")
    (folder / "conf" / "b.yaml").chmod(0)
    return ("-f", "conf")


def a_folder(folder: Path) -> tuple[str, ...]:
    (folder / "conf").mkdir()
    (folder / "conf" / "a.yaml").write_text(FILES)
    (folder / "conf").chmod(0)
    return ("-f", "conf")


def a_folder_of_which_only_the_names_can_be_read(folder: Path) -> tuple[str, ...]:
    a_folder(folder)
    (folder / "conf").chmod(0o444)
    return ("-f", "conf")


def the_folder_that_we_are_in(folder: Path) -> tuple[str, ...]:
    (folder / "proxyctl.yaml").write_text(FILES)
    folder.chmod(0)
    return ()


KINDS = (
    a_file,
    the_default_file,
    one_file_of_a_folder,
    a_folder,
    a_folder_of_which_only_the_names_can_be_read,
    the_folder_that_we_are_in,
)


@pytest.mark.parametrize(("name", "kind"), crossed([*CONNECTING, *OFFLINE], KINDS))
def test_files_that_cannot_be_read(
    offline: Project, asked: Asked, name: str, kind: Callable[[Path], tuple[str, ...]]
) -> None:
    port, statements = asked
    files = kind(offline.folder)
    address = ("--port", str(port)) if name in CONNECTING else ()
    try:
        found = run(*(CONNECTING | OFFLINE)[name], *files, *address)
    finally:
        offline.folder.chmod(0o700)
    if name in ("digest diff", "digest report") and kind is the_folder_that_we_are_in:
        said(found, 1, ": Permission denied")  # another file of this folder comes first
    else:
        said(found, 1, f"{files[-1] if files else 'proxyctl.yaml'}", ": permission denied")
        assert "hint:" not in found.err
    assert not statements


def test_an_option_file_that_was_named(offline: Project, asked: Asked) -> None:
    """It may name the host: without it the command would go to another instance."""
    port, statements = asked
    offline.write(FILES)
    (offline.folder / "px.cnf").write_text("[client]\nhost=px1\n")
    (offline.folder / "px.cnf").chmod(0)
    found = run("export", "--defaults-file", "px.cnf", "--port", str(port))
    said(found, 1, "--defaults-file px.cnf: Permission denied")
    assert not statements


def test_the_option_file_of_the_user(offline: Project, asked: Asked) -> None:
    port, statements = asked
    offline.write(FILES)
    home = offline.folder / "home"
    home.mkdir()
    (home / ".my.cnf").touch(mode=0)
    offline.monkeypatch.setenv("HOME", str(home))
    found = run("export", "--port", str(port))
    assert found.code == 0, found.text
    assert f"warning: {home}/.my.cnf is left out: Permission denied" in found.err
    home.chmod(0)
    found = run("export", "--port", str(port))
    assert found.code == 0, found.text
    assert ".my.cnf" not in found.err
    assert statements


REFERRING = {
    "mysql_query_rules_fast_routing: {csv: x.txt}": "fast_routing.csv: x.txt: {}",
    "mysql_query_rules_fast_routing: {jsonl: x.txt}": "fast_routing.jsonl: x.txt: {}",
    "mysql_servers: [{hostgroup_id: 1, hostname: a, comment: {file: x.txt}}]": "comment: x.txt: {}",
    "variables: {mysql-default_schema: {file: x.txt}}": "mysql-default_schema: x.txt: {}",
    "mysql_users: [{username: a, password: {file: x.txt}}]": "password: x.txt: {}",
}


@pytest.mark.parametrize("reason", ["permission denied", "no such file or directory"])
@pytest.mark.parametrize(("name", "text"), crossed(["plan", "apply", "drift"], REFERRING))
def test_what_the_files_refer_to_cannot_be_read(
    offline: Project, asked: Asked, name: str, text: str, reason: str
) -> None:
    port, statements = asked
    if reason == "permission denied":
        (offline.folder / "x.txt").touch(mode=0)
    offline.write(f"version: 1\n{text}\n")
    found = run(*CONNECTING[name], "--port", str(port))
    said(found, 1, REFERRING[text].format(reason))
    others = ("SELECT", "SET NAMES")
    assert not [
        sql for sql in statements if not sql.startswith(others) and "proxyctl_lock" not in sql
    ]


def test_a_variable_that_is_not_set(offline: Project, asked: Asked) -> None:
    offline.write("mysql_users: [{username: a, password: {env: NOT_THERE}}]\n")
    said(run("plan", "--port", str(asked[0])), 1, "variable NOT_THERE is not set")


@pytest.mark.parametrize("hidden", ["state", "state/snapshots/of_it"])
def test_the_folder_of_the_snapshots(offline: Project, asked: Asked, hidden: str) -> None:
    port, statements = asked
    offline.write(FILES)
    folder = offline.folder / "state" / "snapshots" / f"127.0.0.1_{port}"
    folder.mkdir(parents=True)
    offline.monkeypatch.setenv("PROXYCTL_STATE_DIR", "state")
    Path(hidden.replace("of_it", folder.name)).chmod(0)
    address = ("--host", "127.0.0.1", "--port", str(port))
    for command in ("history", "rollback"):
        said(run(command, *address), 1, f"127.0.0.1_{port}: Permission denied")
    if hidden == "state":
        changes = ("apply", "--auto-approve", "--discard-pending")
        said(run(*changes, *address), 1, "Permission denied; nothing was changed")
    assert not [
        sql for sql in statements if "mysql_servers" in sql and not sql.startswith("SELECT")
    ]
