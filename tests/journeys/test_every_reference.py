"""No command shows a cell or variable that the files take from a reference, wherever it stands.

Every text column outside a key, and every text variable, has a reference of its own: to the
environment, to a file or, for a password, to a command. Its text begins with a shape that one check
or another stumbles over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from proxyctl.catalog import TABLES, Column, Layout, Version, known_version
from proxyctl.catalog.model import ColumnKind, VariableKind, layout_of
from proxyctl.catalog.releases import NEWEST_KNOWN
from proxyctl.catalog.variables import CHOICES, READ_ONLY, VARIABLES
from proxyctl.sandbox import Sandbox
from tests.journeys.command_lines import command_lines
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.seen import fill, seen_digest
from tests.support.parameters import some
from tests.support.servers.instances import Instance

SHAPES = {
    "plain": "{0}",
    "pattern": "SELECT|{0} = [0-9]+",
    "rewrites": r"{0} \1 SELECT 2 -- \7",
    "broken pattern": "({0}",
    "look-ahead": "^(?!{0}).*$",
    "name": "FROM {0}1",
    "wildcard": "{0}%",
    "subnet": "10.77.{1}.{2}/33",
    "relative path": "{0}/ca.pem",
    "blanks": " {0} ",
    "lines": "{0}\nSET {0}=1",
    "quotes": "'{0}' \"{0}\" `{0}`",
    "logins": "boss:boss;{0}:{0}:{0}",
    "addresses": "127.0.0.1:99999;{0}:x",
    "set": "SET {0}='1', b={0}",
    "long": "{0}" + "y" * 300,
    "escapes": "{0}\x1b[2J\u202e::error::{0}",
    "upper case": "0X{0}",
}
"""`{0}` is the text's own word, `{1}` and `{2}` are its number in two parts."""

OTHERWISE = (
    "0x5E5A3E0000{3}",
    ".{0}",
    "/{0}",
    "{0}.{0}",
    "10.77.{1}.{2}/32",
    "10.77.{1}.{2}",
    "10.77.{1}.{2}:6033",
)
"""What takes the place of a shape that a column does not accept, the first that it does."""

SHOWN = re.compile(r"quokka|5e5a3e|\b53\d{4}\b|\b10\.77\.\d", re.IGNORECASE)
"""Any of the texts, and nothing else that a command writes."""

PLAIN = {"status": "ONLINE", "check_type": "read_only", "mode": "'OFF'", "method": "GET"}
PLAIN |= {"domain_name": ".x"}

FIXED_WORDS = {*PLAIN, "re_modifiers"} - {"domain_name"}
"""Columns that take only words of ProxySQL's own, which are no secrets."""


FIXED_TEXTS = {*CHOICES, "mysql-default_charset", "mysql-default_collation_connection"}
FIXED_TEXTS |= {"pgsql-default_client_encoding", "pgsql-default_datestyle", "pgsql-server_encoding"}
"""Variables that take only words of ProxySQL's own."""


@dataclass
class Reference:
    """One cell or variable from a reference. `tried`: the texts that it does not accept."""

    table: str
    column: str
    number: int
    lines: Sequence[str] = ()
    tried: int = 0

    def text(self, shape: str, turn: int) -> str | None:
        """Return its text, another one each turn; None if there is none that it accepts."""
        shapes = (shape, *OTHERWISE)
        if self.tried >= len(shapes):
            return None
        number = 2 * self.number + turn
        words = (f"quokka{number}x", number // 250, number % 250, 530_000 + number)
        text = shapes[self.tried].format(*words)
        is_ours = self.column == "admin-admin_credentials"
        return f"admin:admin;{text}:{text}" if is_ours else text


def plain_cells(layout: Layout, number: int) -> dict[str, object]:
    """Return cells for the key and the required columns of a row of its own."""
    cells: dict[str, object] = {}
    for position, column in enumerate(layout.columns):
        if column.is_required or column.name in layout.table.key:
            low, _ = column.bounds
            if not column.is_numeric:
                cells[column.name] = PLAIN.get(column.name, f"{column.name}{number}")
            elif column.hostgroup or column.name == "rule_id":
                cells[column.name] = number * 10 + position
            else:
                cells[column.name] = 1 if column.kind is ColumnKind.BOOL else max(low or 0, number)
    return cells


def is_by_reference(layout: Layout, column: Column) -> bool:
    return column.kind is ColumnKind.TEXT and column.name not in layout.table.key


def references(version: Version) -> Iterator[Reference]:
    """Yield every cell and variable that takes a reference, with the lines of its row."""
    number = 0
    for table in TABLES.values():
        layout = layout_of(table, version) if table.exists_in(version) else None
        if layout is None or table.prefix is not None:
            continue
        for column in layout.columns:
            if not is_by_reference(layout, column) or column.name in FIXED_WORDS:
                continue
            number += 1
            cells = plain_cells(layout, number)
            cells |= {"match_pattern": "SELECT"} if column.name == "replace_pattern" else {}
            cells |= {"password": "''"} if table.name in ("mysql_users", "pgsql_users") else {}
            cells.pop(column.name, None)
            lines = [f"{name}: {value}" for name, value in cells.items()]
            yield Reference(table.name, column.name, number, lines)
    for name, variable in VARIABLES.items():
        is_text = variable.kind is VariableKind.TEXT and name not in READ_ONLY
        if is_text and variable.exists_in(version):
            number += 1
            yield Reference("variables", name, number)


@dataclass
class Story:
    """A project in which every cell is from a reference, and a sandbox."""

    project: Project
    sandbox: Sandbox
    version: Version
    shape: str
    is_quick: bool
    """Run with one format what asks an instance: the sweep has them all."""
    turn: int = 0
    all: list[Reference] = field(default_factory=list)
    by_line: dict[int, Reference] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)

    def write(self, extra: str = "") -> None:
        """Write the files, and the texts of this turn."""
        lines = ["version: 1", f"proxysql_version: {self.version}", "instances:"]
        address = f"host: {self.sandbox.host}, port: {self.sandbox.port}"
        lines.append(f"  - {{name: px, {address}, password: admin}}")
        lines += extra.splitlines()
        self.by_line.clear()
        written = None
        for reference in self.all:
            text = reference.text(self.shape, self.turn)
            if text is None:
                continue
            if reference.table != written:
                written = reference.table
                lines.append(f"{written}:")
            if reference.number % 2:
                self.project.monkeypatch.setenv(f"TEXT_{reference.number}", text)
                value = f"{{env: TEXT_{reference.number}}}"
            else:
                self.project.write(f"{text}\n", f"text{reference.number}")
                value = f"{{file: text{reference.number}}}"
            if reference.column == "password" and "\n" not in text:  # a command prints one line
                self.project.write(f"{text}\n", f"text{reference.number}")
                value = f"{{command: [cat, text{reference.number}]}}"
            cells = [*reference.lines, f"{reference.column}: {value}"]
            dash = "" if reference.table == "variables" else "- "
            for position, cell in enumerate(cells):
                lines.append(f"  {dash if position == 0 else ' ' * len(dash)}{cell}")
                self.by_line[len(lines)] = reference
        self.project.write("\n".join(lines) + "\n")

    def run(self, *arguments: str) -> Outcome:
        """Run a command, which must show none of the texts."""
        found = proxyctl(*arguments, "--debug")
        assert "internal error" not in found.text, found.text
        self.check(" ".join(arguments), found.text)
        return found

    def check(self, command: str, text: str) -> None:
        """Keep the lines that show one of the texts."""
        shown = (line for line in text.splitlines() if SHOWN.search(line))
        self.shown += [f"{command}: {line[:300]}" for line in shown]

    def edit_by_hand(self) -> None:
        """Delete and change a row of every table; RUNTIME gets every other edit, DISK none."""
        for number, name in enumerate(dict.fromkeys(reference.table for reference in self.all)):
            if name != "variables":
                row = f"WHERE rowid=(SELECT {{}}(rowid) FROM {name})"
                self.sandbox.run(f"DELETE FROM {name} {row.format('max')}")
                self.sandbox.run(f"UPDATE {name} SET comment='by hand' {row.format('min')}")
                if number % 2:
                    self.sandbox.run(f"LOAD {TABLES[name].admin_module} TO RUNTIME")
        variables = "variable_name LIKE '%-init_connect'"
        self.sandbox.run(f"UPDATE global_variables SET variable_value='x' WHERE {variables}")

    def settle(self) -> None:
        """Give each cell a text that the files may have, and check the mistakes on the way."""
        for round_ in range(len(OTHERWISE) + 2):
            self.write()
            if round_ == 0:
                for form in ("text", "github", "sarif"):
                    self.run("lint", "--format", form)
                self.run("validate")
                self.run("plan", "--instance", "px")
            found = self.run("validate", "--format", "json")
            if found.code == 0:
                return
            refused = {
                self.by_line[mistake["line"]].number for mistake in found.json["error"]["mistakes"]
            }
            assert refused, found.text
            for reference in self.all:
                has_fixed_words = reference.number in refused and reference.column in FIXED_TEXTS
                reference.tried += 99 if has_fixed_words else reference.number in refused
        raise AssertionError(found.text)

    def turn_to(self, turn: int) -> None:
        """Give every cell another text, in files with routing tests."""
        self.turn = turn
        self.write(TESTS)

    def run_without_instance(self) -> None:
        """Run what reads files only, in every format."""
        for arguments in without_instance():
            self.run(*arguments)
        self.check("test --junit", (self.project.folder / JUNIT).read_text())

    def run_with_instance(self) -> None:
        """Run what reads the instance and the files, in every format."""
        self.run(*PLAN, "--out", "reviewed.plan")
        self.check("plan --out", (self.project.folder / "reviewed.plan").read_text())
        for arguments in with_instance():
            if not (self.is_quick and "--format" in arguments and arguments[-1] != "text"):
                self.run(*arguments, "--instance", "px")
        for form in ("text", "json"):
            self.run("show", "reviewed.plan", "--format", form)


JUNIT = "junit.xml"
PLAN = ("plan", "--instance", "px", "--force", "--discard-pending")
APPLY = ("apply", "--instance", "px", "--force", "--discard-pending", "--auto-approve")

WITHOUT_CELLS = {"init", "schema", "import", "unlock"}
SHOWS_THE_INSTANCE = {"export", "rules", "digest"}
"""They do not read the files: docs/how-to/passwords.md says so."""
CHANGES = {"apply", "show", "rollback"}
"""Run at their own places."""

TESTS = """\
routing_tests:
  - {query: SELECT 1, username: username1, expect: {hostgroup: 1, rewritten: x, error_msg: x,
     OK_msg: x, digest_text: x, matched_rules: [], cache_ttl: 1}}
  - {query: SELECT other, schemaname: x, client_addr: 10.0.0.1, expect: {rewritten: null}}
"""
QUERY = ("explain", "SELECT 1", "--username", "username1")


def without_instance() -> Iterator[tuple[str, ...]]:
    """Yield the command lines that read files only."""
    for arguments in command_lines():
        if arguments[0] in ("validate", "lint"):
            yield arguments
        elif arguments[0] == "test":
            yield (*arguments, "--coverage", "--verbose", "--junit", JUNIT)
        elif arguments[0] == "render":
            yield from ((*arguments, "--secrets", secrets) for secrets in ("hash", "omit"))
    for form in ("text", "json", "jsonl"):
        for side in ((), ("--pgsql",)):
            yield (*QUERY, *side, "--format", form)
    yield (*QUERY, "--all-rules")


def with_instance() -> Iterator[tuple[str, ...]]:
    """Yield the command lines that read an instance and its files."""
    for arguments in command_lines():
        others = WITHOUT_CELLS | SHOWS_THE_INSTANCE | CHANGES | {"validate", "render"}
        if arguments[0] not in others:
            yield arguments
    yield ("plan", "--verbose", "--replay")
    for layer in ("memory", "disk"):
        yield (*QUERY, "--all-rules", "--layer", layer)
        yield ("lint", "--layer", layer)


CASES = [f"{version} {shape}" for version in (NEWEST_KNOWN, "2.7.1") for shape in SHAPES]


@pytest.fixture
def story(offline: Project, request: pytest.FixtureRequest) -> Iterator[Story]:
    name, _, shape = request.param.partition(" ")
    version = known_version(name)
    with Sandbox(name, variables={"mysql-monitor_enabled": "false"}) as sandbox:
        fill(
            Instance(sandbox.host, sandbox.port, sandbox=sandbox),
            [seen_digest("SELECT 1"), seen_digest("SELECT a FROM b")],
        )
        is_quick = request.node.get_closest_marker("sweep") is None
        every = [*references(version)]
        yield Story(offline, sandbox, version, SHAPES[shape], is_quick, all=every)


@pytest.mark.parametrize("story", some(CASES, len(CASES)), indirect=True)
def test_no_command_shows_a_reference(story: Story) -> None:
    """Run without an instance, then with another text in every cell of it."""
    story.settle()
    refused = {
        reference.column for reference in story.all if reference.text(story.shape, 0) is None
    }
    assert refused <= FIXED_TEXTS
    story.turn_to(0)
    story.run_without_instance()
    assert story.run(*APPLY).code == 0
    story.turn_to(1)
    story.run_with_instance()
    assert story.run(*APPLY).code == 0
    assert not story.shown, "\n".join(story.shown)


@pytest.mark.sweep
@pytest.mark.parametrize("story", CASES, indirect=True)
def test_none_is_shown_after_an_edit_by_hand(story: Story) -> None:
    story.settle()
    story.turn_to(0)
    assert story.run(*APPLY).code == 0
    story.edit_by_hand()
    for turn in (0, 1):
        story.turn_to(turn)
        story.run_with_instance()
    assert story.run(*APPLY).code == 0
    for form in ("text", "json"):
        for how in ("--dry-run", "--auto-approve"):
            story.run("rollback", how, "--instance", "px", "--force", "--format", form)
    assert not story.shown, "\n".join(story.shown)
