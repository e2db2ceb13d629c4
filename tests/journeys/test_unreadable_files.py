"""Files that are unreadable or invalid: the error names the file and the reason; nothing is sent.

Such a file may name the instance: proxyctl does not connect to another instance instead.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.journeys.command_lines import CONNECTING, Asked
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import ended
from tests.support.parameters import crossed

FILES = "version: 1\nmysql_servers: [{hostgroup_id: 1, hostname: db1}]\n"
OFFLINE = {name: (name,) for name in ("validate", "render")}
READ_IT = "fix: let the account of proxyctl read it"
BROKEN = {
    "yaml": "version: 1\ninstances:\n  - {name: px1, host: 127.0.0.1, port: 1}\n  - {a\n",
    "section": "version: 1\ninstnces:\n  - {name: px1, host: 127.0.0.1, port: 1}\n",
    "template": "version: 1\ninstances:\n  - {name: px1, host: '{{ nowhere }}', port: 1}\n",
}


_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2
_VERSION_3 = 0x20080522


@contextmanager
def modes_count() -> Iterator[None]:
    """Drop root's right to read any file, in this thread and in those that it starts."""
    if os.geteuid():
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    # effective, permitted, inheritable: each of them is two words long
    before = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, before) == 0
    without = (ctypes.c_uint32 * 6)(*before)
    without[0] &= ~(1 << _DAC_OVERRIDE | 1 << _DAC_READ_SEARCH)
    assert libc.capset(header, without) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0


def run(*arguments: str) -> Outcome:
    with modes_count():
        return proxyctl(*arguments)


class Kind(NamedTuple):
    """The files of the folder, the file with another mode, and the options that name it.

    A text of None is a dangling link.
    """

    files: dict[str, str | None]
    options: tuple[str, ...] = ()
    hidden: str = ""
    mode: int = 0

    def make(self, folder: Path) -> None:
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            if text is None:
                path.symlink_to("gone.yaml")
            else:
                path.write_text(text)
        if self.hidden:
            (folder / self.hidden).chmod(self.mode)


CONF = {"conf/a.yaml": FILES, "conf/b.yaml": "version: 1\n"}
HERE = "the folder that we are in"
UNREADABLE = {
    "a file": Kind({"a.yaml": FILES}, ("-f", "a.yaml"), "a.yaml"),
    "the default file": Kind({"proxyctl.yaml": FILES}, (), "proxyctl.yaml"),
    "one file of a folder": Kind(CONF, ("-f", "conf"), "conf/b.yaml"),
    "a folder": Kind(CONF, ("-f", "conf"), "conf"),
    "a folder of which only the names can be read": Kind(CONF, ("-f", "conf"), "conf", 0o444),
    HERE: Kind({"proxyctl.yaml": FILES}, (), "."),
}
KINDS = {
    **UNREADABLE,
    "broken yaml": Kind({"broken.yaml": BROKEN["yaml"]}, ("-f", "broken.yaml")),
    "broken section": Kind({"broken.yaml": BROKEN["section"]}, ("-f", "broken.yaml")),
    "broken template": Kind({"broken.yaml.j2": BROKEN["template"]}, ("-f", "broken.yaml.j2")),
    "no file": Kind({}, ("-f", "gone.yaml")),
    "a link that leads nowhere": Kind({"proxyctl.yaml": None}),
    "a link in a folder": Kind({"proxyctl.yaml": None, "other.yaml": "version: 1\n"}, ("-f", ".")),
}


@pytest.mark.parametrize(("name", "kind"), crossed([*CONNECTING, *OFFLINE], KINDS))
def test_files_that_cannot_be_read(offline: Project, asked: Asked, name: str, kind: str) -> None:
    """The files would name the host and the rest of the instance."""
    port, statements = asked
    KINDS[kind].make(offline.folder)
    files = KINDS[kind].options
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
    if kind == HERE and name in ("digest diff", "digest report"):
        ended(found, 1, ": permission denied")  # another file of this folder comes first
    elif kind in UNREADABLE:
        ended(found, 1, path, ": permission denied")
        # No other file is suggested: this one is there.
        assert found.err.count("fix:") == found.err.count(READ_IT) > 0
    else:
        ended(found, 1, "proxyctl.yaml: " if path == "." else f"{path}:")


@pytest.mark.parametrize("name", ["nodes list", "nodes drain", "nodes restore"])
def test_beside_an_address_the_default_file_may_be_broken(
    offline: Project, asked: Asked, name: str
) -> None:
    """An operator who drains a node in a hurry need not first mend an unrelated file."""
    port, statements = asked
    offline.write(BROKEN["yaml"])
    found = proxyctl(*CONNECTING[name], "--host", "127.0.0.1", "--port", str(port))
    assert found.code == 0, found.text
    assert statements


@pytest.mark.parametrize("name", ["doctor", "lint"])
def test_a_command_that_asks_the_files_refuses_a_broken_one(
    offline: Project, asked: Asked, name: str
) -> None:
    port, statements = asked
    offline.write(BROKEN["yaml"])
    ended(proxyctl(name, "--host", "127.0.0.1", "--port", str(port)), 1, "proxyctl.yaml:5:")
    assert not statements


def test_an_instance_that_brings_what_a_template_needs(offline: Project, asked: Asked) -> None:
    port, statements = asked
    listed = f"instances: [{{name: px1, host: 127.0.0.1, port: {port}, vars: {{weight: 7}}}}]\n"
    offline.write(listed, "a.yaml")
    offline.write("hostgroups: {reader: {id: 10, comment: '{{ weight }}'}}\n", "b.yaml.j2")
    for command in (("nodes", "list"), ("drift",), ("export",)):
        assert proxyctl(*command, "-f", ".").code in (0, 2)
    assert statements
    ended(proxyctl("drift", "-f", ".", "--instance", "px2"), 64, "no such instance", "px1")
    ended(proxyctl("drift", "-f", ".", "--host", "127.0.0.1"), 1, "b.yaml.j2:1:", "weight")


@pytest.mark.parametrize(("name", "kind"), crossed(["plan", "apply", "drift", "doctor"], BROKEN))
def test_all_instances(offline: Project, asked: Asked, name: str, kind: str) -> None:
    """The unreadable file may name further instances."""
    port, statements = asked
    wrong = KINDS[f"broken {kind}"]
    wrong.make(offline.folder)
    path = wrong.options[-1]
    ended(proxyctl(name, "--all", "-f", path), 1, f"{path}:")
    offline.write(f"instances: [{{name: px9, host: 127.0.0.1, port: {port}}}]\n", "a.yaml")
    ended(proxyctl(name, "--all", "-f", "."), 1, f"{path}:")
    assert not statements


def test_an_option_file_that_was_named(offline: Project, asked: Asked) -> None:
    """The file may name the host: without the file the command would go to another instance."""
    port, statements = asked
    offline.write(FILES)
    (offline.folder / "px.cnf").write_text("[client]\nhost=px1\n")
    (offline.folder / "px.cnf").chmod(0)
    found = run("export", "--defaults-file", "px.cnf", "--port", str(port))
    ended(found, 1, "--defaults-file px.cnf: permission denied", READ_IT)
    assert not statements


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--password-file", "x.txt"),
        ("apply", "x.txt"),
        ("digest", "report", "x.txt", "-o", "page.html"),
        ("digest", "top", "--events", "x.txt"),
        ("import", "--users-from", "127.0.0.1:1", "--backend-user", "a", "--update", "x.txt"),
    ],
)
def test_a_file_that_an_option_or_argument_names(
    offline: Project, asked: Asked, command: tuple[str, ...]
) -> None:
    offline.write(FILES)
    (offline.folder / "x.txt").touch(mode=0)
    ended(run(*command), 1, "x.txt: permission denied", READ_IT)
    assert not asked[1]


def test_a_ca_without_a_certificate(offline: Project, asked: Asked) -> None:
    offline.write(FILES)
    found = run("plan", "--port", str(asked[0]), "--tls-ca", "proxyctl.yaml")
    ended(found, 1, "--tls-ca proxyctl.yaml: no certificate in PEM format", "fix: name the file")
    assert not asked[1]


def test_the_option_file_of_the_user(offline: Project, asked: Asked) -> None:
    port, statements = asked
    offline.write(FILES)
    home = offline.folder / "home"
    home.mkdir()
    (home / ".my.cnf").touch(mode=0)
    offline.monkeypatch.setenv("HOME", str(home))
    found = run("export", "--port", str(port))
    ended(found, 1, f"{home}/.my.cnf: permission denied", READ_IT)
    assert not statements
    home.chmod(0)
    assert run("export", "--port", str(port)).code == 0


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
    ended(found, 1, REFERRING[text].format(reason))
    others = ("SELECT", "SET NAMES")
    assert not [
        sql for sql in statements if not sql.startswith(others) and "proxyctl_lock" not in sql
    ]


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
        ended(run(command, *address), 1, f"127.0.0.1_{port}: permission denied")
    if hidden == "state":
        changes = ("apply", "--auto-approve", "--discard-pending")
        ended(run(*changes, *address), 1, "permission denied; nothing was changed")
    assert not [
        sql for sql in statements if "mysql_servers" in sql and not sql.startswith("SELECT")
    ]
