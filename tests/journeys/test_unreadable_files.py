"""Files that cannot be read, or hold mistakes: an error says which and why, and nothing is sent.

Such a file may name the instance: nobody connects to another one instead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.journeys.command_lines import CONNECTING, Asked
from tests.journeys.story import said
from tests.support.cli import Outcome, Project, proxyctl
from tests.support.parameters import crossed
from tests.support.privileges import modes_count

FILES = "version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: db1}]\n"
OFFLINE = {name: (name,) for name in ("validate", "render")}
ALSO_WITHOUT_FILES = {"nodes list", "nodes drain", "nodes restore", "doctor", "lint"}
"""What the files only add to: names of hostgroups, logins of members, what lint ignores."""

BROKEN = {
    "yaml": "version: 1\ninstances:\n  - {name: px1, host: 127.0.0.1, port: 1}\n  - {a\n",
    "section": "version: 1\ninstnces:\n  - {name: px1, host: 127.0.0.1, port: 1}\n",
    "template": "version: 1\ninstances:\n  - {name: px1, host: '{{ nowhere }}', port: 1}\n",
}


def run(*arguments: str) -> Outcome:
    with modes_count():
        return proxyctl(*arguments)


def broken(kind: str, folder: Path) -> tuple[str, ...]:
    path = f"broken.yaml{'.j2' if kind == 'template' else ''}"
    (folder / path).write_text(BROKEN[kind])
    return ("-f", path)


def no_file(folder: Path) -> tuple[str, ...]:
    return ("-f", "gone.yaml")


def a_link_that_leads_nowhere(folder: Path) -> tuple[str, ...]:
    (folder / "proxyctl.yaml").symlink_to("gone.yaml")
    return ()


def a_link_in_a_folder(folder: Path) -> tuple[str, ...]:
    a_link_that_leads_nowhere(folder)
    (folder / "other.yaml").write_text("version: 1\n")
    return ("-f", ".")


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


Files = Callable[[Path], tuple[str, ...]]

UNREADABLE: dict[str, Files] = {
    kind.__name__: kind
    for kind in (
        a_file,
        the_default_file,
        one_file_of_a_folder,
        a_folder,
        a_folder_of_which_only_the_names_can_be_read,
        the_folder_that_we_are_in,
    )
}
KINDS: dict[str, Files] = {
    **UNREADABLE,
    **{f"broken {kind}": partial(broken, kind) for kind in BROKEN},
    **{kind.__name__: kind for kind in (no_file, a_link_that_leads_nowhere, a_link_in_a_folder)},
}


@pytest.mark.parametrize(("name", "kind"), crossed([*CONNECTING, *OFFLINE], KINDS))
def test_files_that_cannot_be_read(offline: Project, asked: Asked, name: str, kind: str) -> None:
    """The host would come from the files, and the rest of the instance with it."""
    port, statements = asked
    files = KINDS[kind](offline.folder)
    addresses: list[tuple[str, ...]] = [("--port", str(port)), (), ("--instance", "px2")]
    if files:  # those that were named count beside an address, too
        addresses.append(("--host", "127.0.0.1", "--port", str(port)))
    try:
        for address in addresses if name in CONNECTING else [()]:
            found = run(*(CONNECTING | OFFLINE)[name], *files, *address)
            check(found, name, kind, files)
    finally:
        offline.folder.chmod(0o700)
    assert not statements


def check(found: Outcome, name: str, kind: str, files: tuple[str, ...]) -> None:
    path = files[-1] if files else "proxyctl.yaml"
    if kind == "the_folder_that_we_are_in" and name in ("digest diff", "digest report"):
        said(found, 1, ": permission denied")  # another file of this folder comes first
    elif kind in UNREADABLE:
        said(found, 1, path, ": permission denied")
        assert "fix:" not in found.err
    else:
        said(found, 1, "proxyctl.yaml: " if path == "." else f"{path}:")


@pytest.mark.parametrize("name", sorted(ALSO_WITHOUT_FILES))
def test_the_default_file_is_left_out_beside_an_address(
    offline: Project, asked: Asked, name: str
) -> None:
    """Whoever drains a node in a hurry need not mend a file first that says nothing of that."""
    port, statements = asked
    offline.write(BROKEN["yaml"])
    found = proxyctl(*CONNECTING[name], "--host", "127.0.0.1", "--port", str(port))
    assert found.code == 0, found.text
    warned = "warning: the wrong part of the files is skipped: proxyctl.yaml:5:"
    assert found.err.count(warned) == 1
    assert statements


def test_an_instance_that_brings_what_a_template_needs(offline: Project, asked: Asked) -> None:
    port, statements = asked
    listed = f"instances: [{{name: px1, host: 127.0.0.1, port: {port}, vars: {{weight: 7}}}}]\n"
    offline.write(listed, "a.yaml")
    offline.write("hostgroups: {reader: {id: 10, comment: '{{ weight }}'}}\n", "b.yaml.j2")
    for command in (("nodes", "list"), ("drift",), ("export",)):
        assert proxyctl(*command, "-f", ".").code in (0, 2)
    assert statements
    said(proxyctl("drift", "-f", ".", "--instance", "px2"), 64, "no such instance", "px1")
    said(proxyctl("drift", "-f", ".", "--host", "127.0.0.1"), 1, "b.yaml.j2:1:", "weight")


@pytest.mark.parametrize(("name", "kind"), crossed(["plan", "apply", "drift", "doctor"], BROKEN))
def test_all_instances(offline: Project, asked: Asked, name: str, kind: str) -> None:
    """Whether those that can be read are all, nobody knows."""
    port, statements = asked
    _, path = broken(kind, offline.folder)
    said(proxyctl(name, "--all", "-f", path), 1, f"{path}:")
    offline.write(f"instances: [{{name: px9, host: 127.0.0.1, port: {port}}}]\n", "a.yaml")
    said(proxyctl(name, "--all", "-f", "."), 1, f"{path}:")
    assert not statements


def test_an_option_file_that_was_named(offline: Project, asked: Asked) -> None:
    """It may name the host: without it the command would go to another instance."""
    port, statements = asked
    offline.write(FILES)
    (offline.folder / "px.cnf").write_text("[client]\nhost=px1\n")
    (offline.folder / "px.cnf").chmod(0)
    found = run("export", "--defaults-file", "px.cnf", "--port", str(port))
    said(found, 1, "--defaults-file px.cnf: permission denied")
    assert not statements


NAMING = {
    "--var-file": ("plan",),
    "--password-file": ("plan",),
    "--defaults-file": ("plan",),
    "--tls-ca": ("plan",),
    "--digests": ("replay",),
    "--queries": ("explain",),
    "--backend-password-file": ("import", "--users-from", "127.0.0.1", "--backend-user", "a"),
}
"""Options that name a file to read, with a command that has each."""


@pytest.mark.parametrize("option", NAMING)
def test_an_option_that_names_no_file(offline: Project, asked: Asked, option: str) -> None:
    port, statements = asked
    offline.write(FILES)
    offline.monkeypatch.setenv("PROXYCTL_PORT", str(port))
    (offline.folder / "this-one.txt").touch()
    named = {"--digests": "make one with", "--var-file": "YAML files there: proxyctl.yaml"}
    otherwise = named.get(option, "check the path")
    for typed, fix in (("this-on.txt", "did you mean 'this-one.txt'?"), ("q", otherwise)):
        found = run(*NAMING[option], option, typed)
        said(found, 1, f"{option} {typed}: no such file or directory\n", f"fix: {fix}")
    assert not statements


def test_a_ca_without_a_certificate(offline: Project, asked: Asked) -> None:
    offline.write(FILES)
    found = run("plan", "--port", str(asked[0]), "--tls-ca", "proxyctl.yaml")
    said(found, 1, "--tls-ca proxyctl.yaml: no certificate in PEM format", "fix: name the file")
    assert not asked[1]


def test_the_option_file_of_the_user(offline: Project, asked: Asked) -> None:
    port, statements = asked
    offline.write(FILES)
    home = offline.folder / "home"
    home.mkdir()
    (home / ".my.cnf").touch(mode=0)
    offline.monkeypatch.setenv("HOME", str(home))
    found = run("export", "--port", str(port))
    assert found.code == 0, found.text
    assert f"warning: {home}/.my.cnf is skipped: permission denied" in found.err
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
        said(run(command, *address), 1, f"127.0.0.1_{port}: permission denied")
    if hidden == "state":
        changes = ("apply", "--auto-approve", "--discard-pending")
        said(run(*changes, *address), 1, "permission denied; nothing was changed")
    assert not [
        sql for sql in statements if "mysql_servers" in sql and not sql.startswith("SELECT")
    ]
