"""No command, in any format, shows a secret of the files or of the instance.

Every column, variable and option for a secret has its own here, before and after the change. The
tests find every command of the program and run it in each format and with --debug.
"""

from __future__ import annotations

from itertools import product

import pytest

from proxyctl.catalog import TABLES, known_version
from proxyctl.catalog.variables import VARIABLES
from proxyctl.cli.app import build, commands_of
from proxyctl.sandbox.replies import AdminError
from tests.journeys.command_lines import command_lines
from tests.journeys.secret_story import SecretStory, Sentinels, writes
from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, plan
from tests.support.digests.seen import change_header
from tests.support.servers.instances import Instance


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
        option
        for command in commands_of(build()).values()
        for p in command.params
        for option in p.opts
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
