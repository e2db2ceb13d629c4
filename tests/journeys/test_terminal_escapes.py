"""No foreign text moves the cursor, hides a line or reverses text on a terminal.

Rows and queries of an instance, a server's answers, files of a pull request and their names may
hold control characters, and line breaks followed by a forged message. Runners of pipelines take
some lines of a log for commands.
"""

from __future__ import annotations

import os
import re

import pytest

from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.replies import AdminError
from proxyctl.sandbox.statistics import DIGESTS, digest_rows
from tests.journeys.command_lines import command_lines
from tests.journeys.held_lock import hold_lock
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.digests.seen import change_header
from tests.support.servers.instances import Instance, free_port

HOSTILE = (
    "\x1b[31;1mred\x1b[2J\x1b]0;title\x07\x1b]8;;http://evil/\x1b\\"  # CSI, OSC, a link
    "\x08\r\x7f\x9b31m\x9d0;t\x9c"  # backspace, a line that starts again, DEL, C1
    "\u202eabc\u2066x\u2069\u200f\u061c\u2028\u2029"  # right to left, separators
    "\u200b\ufeff\u2060\U000e0041"  # nothing to see
    "\n::error::forged\n  ::error::forged"  # a line of its own: GitHub takes it for a command
    "##[error]forged ##vso[task.complete]forged"  # also in the middle of a line
)
CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)
"""A line break and a tab are what text is made of."""
FORGED = re.compile(r"^\s*::error::forged", re.MULTILINE)
INSIDE = re.compile(r"##\w*\[")

YAML = '"{}"'.format(
    "".join(
        character
        if character.isascii() and character.isprintable() and character not in '"\\'
        else f"\\U{ord(character):08x}"
        for character in HOSTILE
    )
)
SQL = HOSTILE.replace("'", "''").replace("\n", "'||char(10)||'")
"""A statement with line breaks is sent as one line."""


def check(found: Outcome, *arguments: str) -> None:
    shown = CONTROL.search(found.text)
    around = found.text[max(0, shown.start() - 60) : shown.end() + 10] if shown else ""
    assert not shown, f"proxyctl {' '.join(arguments)} writes {shown[0]!r} in {around!r}"
    shows_data = {"--format", "export", "render"} & {*arguments} or found.out.startswith("{")
    forged = FORGED.search(found.text) or INSIDE.search(found.err if shows_data else found.text)
    around = found.text[max(0, forged.start() - 60) : forged.end() + 40] if forged else ""
    assert not forged, f"proxyctl {' '.join(arguments)} writes {around!r}"
    assert "internal error" not in found.text


@pytest.fixture
def hostile(sandbox_project: Project, sandbox_instance: Instance, sandbox: Sandbox) -> Project:
    """An instance with hostile text in every text column that accepts it."""
    values = {
        "mysql_servers (hostgroup_id, hostname, comment)": f"(1, 'h{SQL}', '{SQL}')",
        "mysql_users (username, password, default_schema, comment)": (
            f"('u{SQL}', 'p', '{SQL}', '{SQL}')"
        ),
        "mysql_query_rules (rule_id, active, username, match_digest, error_msg, comment)": (
            f"(1, 1, 'u{SQL}', '^x{SQL}', '{SQL}', '{SQL}')"
        ),
        "mysql_query_rules_fast_routing (username, schemaname, destination_hostgroup, comment)": (
            f"('u{SQL}', 's{SQL}', 1, '{SQL}')"
        ),
        "scheduler (id, interval_ms, filename, arg1, comment)": f"(1, 1000, '{SQL}', '{SQL}', '')",
        "mysql_replication_hostgroups (writer_hostgroup, reader_hostgroup, comment)": (
            f"(1, 2, '{SQL}')"
        ),
    }
    for into, row in values.items():
        sandbox.run(f"INSERT INTO {into} VALUES {row}")
    sandbox.run(f"SET mysql-default_schema='{SQL}'")
    for module in ("MYSQL SERVERS", "MYSQL USERS", "MYSQL QUERY RULES", "SCHEDULER"):
        sandbox.run(f"LOAD {module} TO RUNTIME")
    sandbox.run("LOAD MYSQL VARIABLES TO RUNTIME")
    sandbox.stats[DIGESTS] = [
        tuple(f"{cell}{HOSTILE}" if n in (1, 2, 3, 5) else cell for n, cell in enumerate(row))
        for row in digest_rows(1_700_000_000)
    ]
    sandbox_project.write(
        f"""\
version: 1
hostgroups: {{{YAML}: {{id: 1}}, reader: {{id: 2}}}}
"""
        """\
variables: {mysql-default_schema: main}
mysql_servers: [{hostgroup_id: 1, hostname: db1}]
mysql_users: [{username: app, password: {env: APP_PASSWORD}}]
mysql_query_rules: [{rule_id: 1, match_digest: '^x', apply: true, destination_hostgroup: 1}]
mysql_query_rules_fast_routing: []
scheduler: []
routing_tests: [{query: SELECT 1, expect: {hostgroup: 1}}]
"""
    )
    return sandbox_project


@pytest.mark.parametrize("arguments", [*command_lines()], ids=" ".join)
def test_what_an_instance_holds(hostile: Project, arguments: tuple[str, ...]) -> None:
    if "diff" in arguments:
        proxyctl("digest", "snapshot", "-o", "seen.gz")
        change_header(hostile.folder / "seen.gz", taken_at=1_700_000_001)
    check(proxyctl(*arguments, "--debug"), *arguments)


def test_a_node_that_is_drained(hostile: Project) -> None:
    name = f"h{HOSTILE}"
    commands = (
        (3, ("nodes", "drain", name)),
        (2, ("drift",)),
        (0, ("nodes", "list")),
        (1, ("doctor",)),
        (3, ("nodes", "restore", name)),
    )
    for code, arguments in commands:
        found = proxyctl(*arguments)
        check(found, *arguments)
        assert found.code == code, found.text


@pytest.mark.parametrize("layer", ["runtime", "memory", "disk"])
@pytest.mark.parametrize("form", ["yaml", "sql", "cnf"])
def test_an_export_and_what_is_made_of_it(hostile: Project, layer: str, form: str) -> None:
    found = proxyctl("export", "--layer", layer, "--format", form)
    check(found, "export", form)
    if form == "yaml" and layer == "memory":
        hostile.write(found.out)
        for command in ("validate", "lint", "plan", "drift", "test"):
            check(proxyctl(command), command)
        for format in ("yaml", "sql", "cnf"):
            check(proxyctl("render", "--format", format), "render", format)


def test_what_a_server_answers(sandbox_project: Project, sandbox: Sandbox) -> None:
    def refuse(_: str) -> None:
        raise AdminError(f"refused{HOSTILE}\nerror: forged", code=1045)

    sandbox_project.write("variables: {mysql-default_schema: main}\n")
    sandbox.options.before_statement = refuse
    for form in ("text", "json"):
        check(proxyctl("plan", "--format", form, "--debug"), "plan")


FILES = {
    "a text of a file": "mysql_servers: [{hostgroup_id: 1, hostname: db1, weight: %s}]",
    "an unknown key": "mysql_servers: [{hostgroup_id: 1, hostname: db1, %s: 1}]",
    "a section": "%s: 1",
    "a hostgroup": "mysql_servers: [{hostgroup_id: %s, hostname: db1}]",
    "a reference": "mysql_users: [{username: a, password: {env: %s}}]",
    "a path": "mysql_users: [{username: a, password: {file: %s}}]",
    "a table": "mysql_users: {csv: %s}",
    "a pattern": "mysql_query_rules: [{rule_id: 1, match_digest: %s}]",
    "a variable": "variables: {%s: 1}",
    "an instance": "instances: [{name: %s, host: h}, {name: %s, host: h}]",
    "a test": "routing_tests: [{query: %s, expect: {hostgroup: 1}}]",
    "a tag": "mysql_users: !%s 1",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_a_file_holds(offline: Project, text: str, form: str) -> None:
    quoted = '"(' + HOSTILE.encode("unicode_escape").decode().replace("\\x", "\\x") + '"'
    offline.write(text.replace("%s", quoted).replace("!" + quoted, "!x") + "\n")
    for command in ("validate", "lint", "test", "plan"):
        check(proxyctl(command, "--format", form), command)
    check(proxyctl("lint", "--format", "github"), "lint")
    check(proxyctl("render"), "render")


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_what_a_finding_is_about(offline: Project, form: str) -> None:
    quoted = HOSTILE.encode("unicode_escape").decode()
    offline.write(f"""\
mysql_users: [{{username: app, password: a}}]
mysql_query_rules: [{{rule_id: 1, username: "a{quoted}", match_pattern: c, apply: true}}]
""")
    found = proxyctl("lint", "--format", form)
    check(found, "lint", form)
    assert "no active row of mysql_users has this frontend user" in found.out


def test_what_a_lock_says(
    sandbox_project: Project, sandbox_instance: Instance, sandbox: Sandbox
) -> None:
    forged = "\nApplied to all: everything is fine"
    sandbox_project.write("mysql_servers: [{hostgroup_id: 1, hostname: db1}]\n")
    hold_lock(sandbox_instance, host="elsewhere", pid=1, for_s=600)
    sandbox.run(
        f"UPDATE proxyctl_lock SET purpose='apply{SQL}\nApplied to all: everything is fine'"
    )
    for arguments in (("apply", "--auto-approve", "--lock-timeout", "0"), ("doctor",), ("unlock",)):
        found = proxyctl(*arguments)
        check(found, *arguments)
        assert forged not in found.text


def test_control_characters_in_a_table(offline: Project) -> None:
    """The row keeps its control characters; no output shows them raw. No row can hold NUL."""
    offline.write(
        f'hostgroup_id,hostname,comment\n1,db1,"{HOSTILE.replace(chr(13), "")}"\n', "a.csv"
    )
    offline.write("mysql_servers: {csv: a.csv}\n")
    for arguments in (("validate",), ("render",), ("lint",)):
        found = proxyctl(*arguments)
        check(found, *arguments)
        assert found.code == 0, found.text
    offline.write(f"hostgroup_id,hostname,{HOSTILE}\n{HOSTILE},db1,x\n", "a.csv")
    check(proxyctl("validate"), "validate")
    offline.write("hostgroup_id,hostname\n1,d\0b\n", "a.csv")
    found = proxyctl("validate")
    assert found.code == 1
    assert "a NUL character cannot be stored" in found.err


def test_names_of_files(offline: Project) -> None:
    name = "a" + HOSTILE.replace("/", "") + "\nerror: forged.yaml"
    (offline.folder / name).write_text("mysql_servers: [{hostgroup_id: x}]\n")
    (offline.folder / f"{name}.j2").write_text("{{ nothing }}\n")
    for form in ("text", "json"):
        for arguments in (("validate", "-f", "."), ("validate", "-f", name)):
            found = proxyctl(*arguments, "--format", form)
            check(found, *arguments)
            assert found.code == 1
            assert not re.search("^error: forged", found.err, re.MULTILINE), found.err
    check(proxyctl("render", "-f", name), "render")
    (offline.folder / name).write_text("mysql_users: [{username: a, password: secret}]\n")
    for form in ("text", "json", "github", "sarif"):
        found = proxyctl("lint", "--format", form, "-f", name)
        check(found, "lint", "--format", form)
        assert "\nerror: forged" not in found.out + found.err


def test_a_name_that_is_a_command(offline: Project) -> None:
    """No line break is needed: a path or a hostname may begin a line."""
    offline.write("mysql_servers: [{hostgroup_id: x}]\n", "::error::forged.yaml")
    for path in (".", "::error::forged.yaml", "::error::forged"):
        check(proxyctl("validate", "-f", path), "validate")
    assert os.listdir(offline.folder)


def test_what_many_instances_are_called(offline: Project) -> None:
    with Sandbox() as first, Sandbox() as second:
        ports = (first.port, second.port, free_port())
        instances = [
            f'  - {{name: {YAML[:-1]}{n}", host: 127.0.0.1, port: {port}, password: admin}}\n'
            for n, port in enumerate(ports)
        ]
        servers = f"mysql_servers: [{{hostgroup_id: 1, hostname: {YAML}}}]\n"
        offline.write(f"version: 1\n{servers}instances:\n{''.join(instances)}")
        skipping = ("--auto-approve", "--skip-unreachable")
        for arguments in (
            ("plan", "--all"),
            ("drift", "--all"),
            ("doctor", "--all"),
            ("apply", "--all", "--auto-approve"),
            ("apply", "--all", *skipping),
            ("drift", "--all"),
            ("plan", "--instance", "nobody"),
            ("history", "--instance", f"{HOSTILE}0"),
        ):
            found = proxyctl(*arguments)
            check(found, *arguments)
            assert "mistake" not in found.err


@pytest.mark.parametrize(
    "arguments",
    [
        (HOSTILE,),
        ("plan", f"--{HOSTILE}"),
        ("plan", "--host", HOSTILE),
        ("plan", "--socket", HOSTILE),
        ("plan", "--only", HOSTILE),
        ("plan", "--var", f"{HOSTILE}=1"),
        ("plan", "--var-file", HOSTILE),
        ("plan", "--password-file", HOSTILE),
        ("plan", "--all", "--instances-from", HOSTILE),
        ("apply", HOSTILE),
        ("rollback", HOSTILE),
        ("explain", HOSTILE, "--username", HOSTILE),
        ("lint", "--select", HOSTILE),
        ("import", HOSTILE),
        ("init", "--template", HOSTILE, "made"),
        ("digest", "diff", HOSTILE),
        ("nodes", "discover", "--seed", HOSTILE),
    ],
    ids=lambda arguments: " ".join(arguments).partition(HOSTILE)[0] or "nothing",
)
def test_what_is_typed(offline: Project, arguments: tuple[str, ...]) -> None:
    """A pipeline may pass on a title or the name of a branch."""
    offline.write("mysql_servers: [{hostgroup_id: 1, hostname: db1}]\n")
    check(proxyctl(*arguments, "--debug"), *arguments)
