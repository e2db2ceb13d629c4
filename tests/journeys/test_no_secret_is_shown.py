"""No command, in any format, shows a secret of the files or of the instance.

Every column, variable and option for a secret has its own here, before and after the change. The
tests find every command of the program and run it in each format and with --debug.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from proxyctl.catalog import TABLES, known_version
from proxyctl.catalog.variables import VARIABLES
from proxyctl.cli.app import build, commands_of
from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.replies import AdminError
from tests.journeys.command_lines import command_lines
from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.digests.seen import change_header
from tests.support.servers.instances import Instance


def native_hash(text: str) -> str:
    """Return what mysql_native_password stores of a password, without its asterisk."""
    return hashlib.sha1(hashlib.sha1(text.encode()).digest()).hexdigest().upper()


@dataclass
class Sentinels:
    """Secrets by their place.

    `in_columns` are in columns and variables for secrets. `referenced` came by a reference into
    other columns: an export of an instance cannot know them.
    """

    in_columns: dict[str, str] = field(default_factory=dict)
    referenced: dict[str, str] = field(default_factory=dict)

    def secret(self, place: str) -> str:
        """Return a new secret for a column or variable that holds secrets."""
        return self.in_columns.setdefault(place, f"SeNtInEl-{place}-{len(self.in_columns)}-x")

    def reference(self, place: str) -> str:
        """Return a new secret for a column that is not meant for secrets."""
        return self.referenced.setdefault(place, f"ReFeReNcE-{place}-{len(self.referenced)}-x")

    def shown_in(
        self, text: str | bytes, *, hashes: bool = True, references: bool = True
    ) -> list[str]:
        """Return the secrets that a text shows, in clear or in an encoded form.

        `hashes` and `references` False: those may be shown, as in an export.
        """
        found = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        lowered = found.lower()
        known = {**self.in_columns, **(self.referenced if references else {})}
        shown = [place for place, one in known.items() if one.lower() in lowered]
        for place, one in known.items():
            digests = [kind(one.encode()).hexdigest() for kind in (hashlib.sha1, hashlib.sha256)]
            forms = [
                one.encode().hex(),
                base64.b64encode(one.encode()).decode().rstrip("=").lower(),
                *(digests if hashes else ()),
                *([native_hash(one).lower()] if hashes else ()),
            ]
            shown += [f"{place} as {form}" for form in forms if form in lowered]
        return shown


_SHOWS_HASHES = ("export", "render", "import")
_SHOWS_REFERENCES = ("export", "rules", "digest")
"""What these read of an instance does not say that it came by a reference."""


class SecretStory:
    """Files with a secret in every possible place, and an instance with other secrets."""

    def __init__(self, project: Project, sandbox: Sandbox, version: str) -> None:
        self.project = project
        self.sandbox = sandbox
        self.version = version
        self.sentinels = Sentinels()
        self.login = self.sentinels.secret("login")

    def write(self, side: str, *, users: bool = True) -> None:
        """Write the files of one side, with their own secrets."""
        secret, reference = self.sentinels.secret, self.sentinels.reference
        self.project.monkeypatch.setenv("ENV_PASSWORD", secret(f"env-password-{side}"))
        self.project.monkeypatch.setenv("ENV_ARGUMENT", reference(f"argument-{side}"))
        self.project.monkeypatch.setenv("ENV_COMMENT", reference(f"comment-{side}"))
        self.project.write(secret(f"file-password-{side}") + "\n", "one.password")
        self.project.write(secret(f"printed-password-{side}") + "\n", "printed.password")
        self.project.write(reference(f"script-{side}") + "\n", "script.txt")
        pgsql = f"""\
pgsql_users:
  - {{username: pg, password: {secret(f"pgsql-{side}")}}}
  - {{username: pge, password: {{env: ENV_PASSWORD}}}}
"""
        self.project.monkeypatch.setenv("ENV_SECOND", secret(f"second-{side}"))
        second = "{additional_password: {env: ENV_SECOND}}"
        pgsql_monitor = f"  pgsql-monitor_password: {secret(f'pgsql-monitor-{side}')}"
        rows = f"""\
mysql_users:
  - {{username: app, password: {secret(f"clear-{side}")}, default_hostgroup: 10}}
  - {{username: env, password: {{env: ENV_PASSWORD}}}}
  - {{username: two, password: {{env: ENV_PASSWORD}}, attributes: {second}}}
  - {{username: filed, password: {{file: one.password}}}}
  - {{username: printed, password: {{command: [cat, printed.password]}}}}
  - {{username: hashed, password: "*{native_hash(secret(f"hashed-{side}"))}"}}
"""
        logins = f"admin:admin;boss:{self.login};next:{secret(f'admin-{side}')}"
        self.project.write(f"""\
version: 1
instances:
  - {{name: px, host: "{self.sandbox.host}", port: {self.sandbox.port}, user: boss,
      password: {{env: PROXYCTL_PASSWORD}}}}
{rows if users else "mysql_users: []"}
{pgsql if users and self.version.startswith("3") else ""}
mysql_servers:
  - {{hostgroup_id: 10, hostname: db1, comment: {{env: ENV_COMMENT}}}}
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', comment: {{env: ENV_COMMENT}}, apply: true}}
scheduler:
  - {{id: 1, interval_ms: 1000, filename: /bin/true, arg1: {{env: ENV_ARGUMENT}}, arg5: plain}}
restapi_routes:
  - {{id: 1, timeout_ms: 1000, method: GET, uri: x, script: {{file: script.txt}}}}
variables:
  mysql-monitor_password: {secret(f"monitor-{side}")}
{pgsql_monitor if self.version.startswith("3") else ""}
  admin-admin_credentials: "{logins}"
  admin-stats_credentials: "stats:{secret(f"stats-{side}")}"
  admin-cluster_password: {{command: [cat, printed.password]}}
  mysql-default_schema: {{env: ENV_COMMENT}}
routing_tests:
  - {{query: SELECT 1, username: app, expect: {{hostgroup: 10}}}}
""")
        self.project.write(f"""\
mysql_users: ( {{ username = "cnf"; password = "{secret(f"cnf-{side}")}"; }} )
admin_variables: {{ admin_credentials = "admin:{secret(f"cnf-admin-{side}")}"; }}
mysql_variables: {{ monitor_password = "{secret(f"cnf-monitor-{side}")}"; }}
""", "proxysql.cnf")  # fmt: skip

    def check(self, found: Outcome, command: str) -> Outcome:
        """Check the output, and written files unless clear secrets were requested."""
        self.check_text(found.text, command)
        assert found.code in (0, 1, 2, 3, 4), found.text
        assert "internal error" not in found.text, found.text
        return found

    def check_text(self, text: str, command: str) -> None:
        shown = self.sentinels.shown_in(
            text,
            hashes=not command.startswith(_SHOWS_HASHES),
            references=not command.startswith(_SHOWS_REFERENCES),
        )
        assert not shown, f"proxyctl {command} shows {shown}:\n{text}"

    def run(self, *arguments: str) -> Outcome:
        return self.check(proxyctl(*arguments), " ".join(arguments))


@pytest.fixture(params=["2.7.1", pytest.param("3.0.0", marks=pytest.mark.sweep)])
def story(offline: Project, request: pytest.FixtureRequest) -> Iterator[SecretStory]:
    version: str = request.param
    served = Sandbox(version, variables={"mysql-monitor_enabled": "false"})
    story = SecretStory(offline, served, version)
    with served:
        logins = f"admin:admin;boss:{story.login}"
        served.run(f"SET admin-admin_credentials='{logins}'")
        served.run("LOAD ADMIN VARIABLES TO RUNTIME")
        served.run("SAVE ADMIN VARIABLES TO DISK")
        # The password of the administrator is a secret as well.
        offline.connect(Instance(served.host, served.port, "boss", story.login))
        story.write("old")
        story.run("apply", "--auto-approve", "--debug")
        story.write("new")
        yield story


def test_every_secret_column_and_variable_has_one(story: SecretStory) -> None:
    version = known_version(story.version)
    text = (story.project.folder / "proxyctl.yaml").read_text()
    for name, variable in VARIABLES.items():
        is_here = variable.secret and variable.exists_in(version)
        assert not is_here or name in text, name
    for table in TABLES.values():
        if table.exists_in(version) and any(column.secret for column in table.columns):
            assert f"{table.name}:" in text, table.name


def test_no_command_shows_a_secret(story: SecretStory) -> None:
    """Run with differences between the files and the instance, then without."""
    for name in ("first", "second"):
        story.run("plan", "--out", "reviewed.plan")
        for arguments in command_lines():
            if arguments[:2] == ("digest", "diff"):
                change_header(story.project.folder / "seen.gz", taken_at=1)
            if arguments[0] != "apply":
                story.run(*arguments, "--debug")
        for arguments in (("--secrets", "omit"), ("--format", "sql")):
            story.run("render", *arguments)
        for layer, secrets in product(("runtime", "memory", "disk"), ("hash", "omit")):
            story.run("export", "--layer", layer, "--secrets", secrets)
        story.run("plan", "--out", f"{name}.plan")
        story.check_text((story.project.folder / f"{name}.plan").read_text(), "plan --out")
        story.run("apply", f"{name}.plan", "--debug")
        for form in ("text", "json"):
            story.run("rollback", "--auto-approve", "--force", "--format", form, "--debug")
    for written in story.project.folder.glob("*"):
        if written.suffix in (".gz", ".html", ".plan"):
            assert not story.sentinels.shown_in(written.read_bytes(), references=False)


POLICIES = """
policies:
  - {name: whole, for: TABLE, that: row | string == '', message: m}
  - {name: joined, for: TABLE, that: "'' ~ row.COLUMN == 'a'", message: m}
  - {name: compared, for: TABLE, that: row.COLUMN != 'a', message: m}
  - {name: listed, for: TABLE, that: "[row.COLUMN] | join == 'a'", message: m}
  - name: before
    for: change
    that: table != 'TABLE' or before.COLUMN == after.COLUMN
    message: m
  - {name: after, for: change, that: "(after, before) | join == ''", message: m}
"""


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("mysql_users", "password"),
        ("mysql_servers", "comment"),
        ("mysql_query_rules", "comment"),
        ("scheduler", "arg1"),
        ("mysql_variables", "variable_value"),
        ("admin_variables", "variable_value"),
    ],
)
@pytest.mark.parametrize("story", ["2.7.1"], indirect=True)
def test_a_policy_shows_none(story: SecretStory, table: str, column: str) -> None:
    files = story.project.folder / "proxyctl.yaml"
    policies = POLICIES.replace("TABLE", table).replace("COLUMN", column)
    files.write_text(files.read_text() + policies)
    connected = ("--instance", "px")
    refused = story.run("apply", "--auto-approve", *connected, "--debug")
    assert refused.code == 3
    assert f"{column} is a secret here" in refused.text
    for form in ("text", "json", "markdown"):
        story.run("plan", "--format", form, *connected)
    for form in ("text", "json", "sarif", "github"):
        assert story.run("lint", "--format", form).code == 1
        assert story.run("lint", "--format", form, *connected).code == 1
    for form in ("text", "json"):
        assert story.run("validate", "--format", form).code == 1
    story.run("drift", *connected)
    story.run("apply", "--force", "--auto-approve", *connected)
    story.run("rollback", "--auto-approve", *connected)


def writes(sql: str) -> bool:
    words = ("INSERT", "UPDATE", "DELETE", "LOAD", "SAVE")
    lock = tuple(f"{verb} proxyctl_lock" for verb in ("INSERT INTO", "UPDATE", "DELETE FROM"))
    return sql.startswith(words) and not sql.startswith(lock)


@pytest.mark.sweep
@pytest.mark.parametrize("story", ["2.7.1"], indirect=True)
def test_a_statement_that_is_refused_shows_none(story: SecretStory) -> None:
    """Refuse each statement of an apply in turn; the error repeats the statement, whole or cut."""
    codes = []
    for step in range(100):
        count = 0

        def refuse(sql: str, step: int = step) -> None:
            nonlocal count
            count += writes(sql)
            if writes(sql) and count == step + 1:
                cut = sql[: len(sql) * 2 // 3]
                words = (f'disk I/O error: {sql}; unrecognized token: "{cut}', f'near "{sql}"')
                raise AdminError(words[step % 2], code=1045)

        story.sandbox.options.before_statement = refuse
        form = ("text", "json")[step % 3 == 0]
        found = story.run("apply", "--auto-approve", "--format", form, "--debug")
        story.sandbox.options.before_statement = lambda _sql: None
        codes.append(found.code)
        if found.code == 0:
            break
    assert set(codes) == {0, 1, 4}


def test_what_is_read_back_wrong_shows_none(story: SecretStory) -> None:
    """Somebody else writes between our statement and our read-back."""
    other = story.sentinels.secret("by-another-hand")
    edits = {
        "UPDATE mysql_users": f"UPDATE mysql_users SET password='{other}'",
        "UPDATE global_variables": (
            f"UPDATE global_variables SET variable_value='x:{other}'"
            " WHERE variable_name LIKE '%credentials' OR variable_name LIKE '%password'"
        ),
    }
    for begins, edit in edits.items():

        def meddle(sql: str, begins: str = begins, edit: str = edit) -> None:
            if sql.startswith(begins):
                story.sandbox.run(edit)

        story.sandbox.options.after_statement = meddle
        found = story.run("apply", "--auto-approve", "--discard-pending", "--debug")
        story.sandbox.options.after_statement = lambda _sql: None
        assert found.code in (1, 4), found.text


def test_pending_edits_and_refusals_show_none(story: SecretStory) -> None:
    other = story.sentinels.secret("pending")
    story.sandbox.run(f"UPDATE mysql_users SET password='{other}' WHERE username='app'")
    story.sandbox.run(f"INSERT INTO mysql_users (username, password) VALUES ('new', '{other}')")
    story.sandbox.run(f"SET mysql-monitor_password='{other}'")
    for form in ("text", "json", "markdown", "sql"):
        for allowed in ((), ("--discard-pending",)):
            story.run("plan", "--format", form, *allowed)
    assert story.run("apply", "--auto-approve", "--debug").code == 3
    story.run("drift")
    story.write("new", users=False)
    for form in ("text", "json", "markdown", "sql"):
        story.run("plan", "--format", form, "--discard-pending")
    assert story.run("apply", "--auto-approve", "--discard-pending").code == 3
    assert story.run("apply", "--auto-approve", "--discard-pending", "--force", "--debug").code == 0


BROKEN = [
    "mysql_users: [{{username: app, password: [{0}]}}]",
    "mysql_users: [{{username: app, password: {{key: {0}}}}}]",
    "mysql_users: [{{username: app, password: {0}, pasword: {0}}}]",
    "mysql_users: [{{username: app, password: {0}}}, {{username: app, password: {0}}}]",
    "mysql_users: [{{username: app, password: *{0}}}]",
    "mysql_users: [{{username: app, password: !{0}}}]",
    "mysql_users: [{{username: app, password: @{0}}}]",
    "mysql_users: [{{username: app, password: '{0}]}}]",
    "mysql_users: [{{username: app, password: '{0}'{0}}}]",
    "mysql_users:\n  - username: app\n    password: {0}\n\tx: 1",
    "mysql_users:\n  - username: app\n    password: a: {0}",
    'mysql_users: [{{username: app, password: "\\q{0}"}}]',
    "variables: {{mysql-monitor_password: [{0}]}}",
    "variables: {{mysql-monitor_pasword: {0}}}",
    "variables: {{admin-admin_credentials: {0}}}",
    "variables: {{admin-admin_credentials: '{0}:;:;'}}",
    "variables: {{admin-stats_credentials: 'boss:{0}'}}",
    "instances: [{{name: px, host: h, password: [{0}]}}]",
    "mysql_users: [{{username: app, password: {{command: [sh, -c, 'echo {0}; exit 3']}}}}]",
    "mysql_users: [{{username: app, password: {{command: [sh, -c, 'echo {0}; kill $$']}}}}]",
    "mysql_users: [{{username: app, password: {{command: [printf, '{0}\\0']}}}}]",
    "mysql_users: [{{username: app, password: {{command: sh -c 'echo {0}'}}}}]",
    "variables: {{mysql-default_schema: {{command: [echo, {0}]}}}}",
    "mysql_users: {{csv: users.csv}}",
    "mysql_users: {{jsonl: users.jsonl}}",
    "mysql_users: {{csv: broken.csv}}",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_mistake_in_a_file_shows_none(offline: Project, text: str) -> None:
    sentinels = Sentinels()
    secret = sentinels.secret("broken")
    offline.write(f"version: 1\n{text.format(secret)}\n")
    offline.write(f"username,password,default_hostgroup\napp,{secret},x\n", "users.csv")
    offline.write(f'username,password\napp,"{secret}\n', "broken.csv")
    offline.write(f'{{"username": "app", "password": ["{secret}"]}}\n{secret}\n', "users.jsonl")
    for arguments in (
        ("validate",),
        ("validate", "--format", "json", "--debug"),
        ("render",),
        ("lint",),
        ("plan", "--debug"),
    ):
        found = proxyctl(*arguments)
        assert not sentinels.shown_in(found.text), (arguments, found.text)
        assert "internal error" not in found.text


def test_a_login_that_fails_shows_none(story: SecretStory) -> None:
    """Try each source of the password, with each mistake in that source."""
    wrong = story.sentinels.secret("wrong")
    for name, text in {
        "pw": f"{wrong}\n",
        "latin1": f"{wrong}\udcff\n",
        "my.cnf": f"[client]\nuser=boss\npassword={wrong}\n",
        "bad.cnf": f"password={wrong}\n[client\n{wrong}\n",
        "port.cnf": f"[client]\npassword={wrong}\nport=x\n",
    }.items():
        story.project.write(text, name)
    story.project.monkeypatch.delenv("PROXYCTL_PASSWORD")
    for options in (
        ("--password-file", "pw"),
        ("--password-file", "latin1"),
        ("--defaults-file", "my.cnf"),
        ("--defaults-file", "bad.cnf"),
        ("--defaults-file", "port.cnf"),
        ("--password-file", "pw", "--tls-required"),
        ("--password-file", "pw", "--port", "1"),
    ):
        for form in ((), ("--format", "json")):
            assert story.run("plan", *options, *form, "--debug").code == 1
    assert "--password" not in {
        option for one in commands_of(build()).values() for p in one.params for option in p.opts
    }


ANY_COLUMN = """\
version: 1
variables: {mysql-init_connect: {env: APP_PASSWORD}}
mysql_servers: [{hostgroup_id: 1, hostname: {file: host}}]
mysql_hostgroup_attributes: [{hostgroup_id: 1, init_connect: {env: APP_PASSWORD}}]
mysql_servers_ssl_params: [{hostname: a, port: 1, ssl_key: {env: APP_PASSWORD}}]
scheduler: [{id: 1, interval_ms: 1000, filename: /x, arg1: {env: APP_PASSWORD}}]
"""
OLD, NEW = "SET @a='the first'", "SET @a='the second'"


@pytest.mark.since("2.6.0", "no mysql_servers_ssl_params")
@pytest.mark.parametrize("layer", ["memory", "runtime"])
def test_a_reference_is_not_shown_where_only_some_layers_differ(
    project: Project, instance: Instance, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    """A killed apply leaves this state: MEMORY, and perhaps RUNTIME, hold the new text."""
    project.write("db1\n", "host")
    project.write(ANY_COLUMN)
    monkeypatch.setenv("APP_PASSWORD", OLD)
    applied()
    monkeypatch.setenv("APP_PASSWORD", NEW)
    new = NEW.replace("'", "''")
    variable = "variable_name='mysql-init_connect'"
    instance.execute(f"UPDATE global_variables SET variable_value='{new}' WHERE {variable}")
    for column, table in (("arg1", "scheduler"), ("init_connect", "mysql_hostgroup_attributes")):
        instance.execute(f"UPDATE {table} SET {column}='{new}'")
    if layer == "runtime":
        instance.load("MYSQL VARIABLES", "SCHEDULER", "MYSQL SERVERS")
    texts = [plan("--format", f).text for f in ("text", "json", "markdown", "sql")]
    texts += [proxyctl("drift", "--format", f).text for f in ("text", "json", "prometheus")]
    texts.append(applied("--debug").text)
    for text in texts:
        assert "the first" not in text
        assert "the second" not in text


def processes_below(pid: int) -> list[Path]:
    """Return the folders in /proc of a process and of its descendants."""
    found = [Path(f"/proc/{pid}")]
    for one in found:
        with suppress(OSError):  # it may have ended
            for thread in one.glob("task/*/children"):
                found += [Path(f"/proc/{child}") for child in thread.read_text().split()]
    return found


def visible(place: Path, name: str) -> bytes:
    try:
        return (place / name).read_bytes()
    except OSError:
        return b""  # it has ended


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
def test_nobody_sees_the_password_from_outside(story: SecretStory) -> None:
    """While an apply runs, check its command line and its child processes."""
    (story.project.folder / "pw").touch(mode=0o600)
    story.project.write(story.login, "pw")
    environment = {k: v for k, v in os.environ.items() if k != "PROXYCTL_PASSWORD"}
    seen: list[bytes] = []
    children: list[Path] = []
    process: list[subprocess.Popen[bytes]] = []

    def look(sql: str) -> None:
        if writes(sql):
            mine, *others = processes_below(process[0].pid)
            children.extend(others)
            seen.append(visible(mine, "cmdline"))

    story.sandbox.options.before_statement = look
    command = [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", "--password-file", "pw"]
    files = story.project.folder / "proxyctl.yaml"
    files.write_text(files.read_text().replace("{env: PROXYCTL_PASSWORD}", "''"))
    process.append(
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    )
    out, err = process[0].communicate()
    assert process[0].returncode == 0, err
    assert seen
    assert not children
    assert not story.sentinels.shown_in(b"".join(seen) + out + err)


@pytest.mark.sweep
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
def test_no_child_gets_the_password(offline: Project) -> None:
    """The demo starts proxyctl only with the login of its own sandbox."""
    sentinels = Sentinels()
    offline.write(sentinels.secret("password-file"), "pw")
    environment = {
        **os.environ,
        "PROXYCTL_PASSWORD": sentinels.secret("password"),
        "PROXYCTL_PASSWORD_FILE": "pw",
        "PROXYCTL_HOST": "nowhere.invalid",
    }
    seen = set()
    with subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "demo"],
        env=environment,
        stdout=subprocess.DEVNULL,
    ) as demo:
        while demo.poll() is None:
            for child in processes_below(demo.pid)[1:]:
                called = visible(child, "cmdline")
                # Between fork and exec it still is the demo, with all that the demo has.
                if called.split(b"\0")[3:4] not in ([], [b"demo"]):
                    seen |= {called, visible(child, "environ")}
    assert demo.returncode == 0
    assert any(b"proxyctl" in one for one in seen)
    assert not sentinels.shown_in(b"\n".join(seen))
