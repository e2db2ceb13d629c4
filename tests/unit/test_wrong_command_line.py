"""A wrong command line gives one message and one fix, instead of Typer's text."""

from __future__ import annotations

import pytest

from tests.support.commands.cli import Project, proxyctl


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("plna", "no such command: plna", "did you mean plan?"),
        ("Plan", "no such command: Plan", "did you mean plan?"),
        ("observe", "no such command: observe", "choose from init, validate, "),
        ("version", "no such command: version", "did you mean --version?"),
        ("--file a.yaml plan", "no such option: --file", "write options after the command"),
        ("apply --yes", "no such option: --yes", "did you mean --auto-approve?"),
        ("apply -auto-approve", "no such option: -auto-approve", "did you mean --auto-approve?"),
        ("plan -out=a.plan", "no such option: -out", "did you mean --out a.plan?"),
        ("plan -outfile=a.plan", "no such option: -outfile", "see proxyctl plan --help"),
        ("plan -o=a.plan", "-o=a.plan: expected a space after -o", "did you mean -o a.plan?"),
        ("plan -help", "no such option: -help", "did you mean --help?"),
        ("plan -hdb", "-h shows the help", "did you mean --host db?"),
        ("plan -json", "no such option: -json", "did you mean --format json?"),
        ("plan --json", "no such option: --json", "did you mean --format json?"),
        ("plan -target=a", "no such option: -target", "did you mean --only?"),
        ("digest top -limit 3", "no such option: -limit", "did you mean --limit?"),
        (
            "apply --dry-run",
            "no such option: --dry-run",
            "run plan: it shows what an apply would change",
        ),
        ("-version", "no such option: -version", "did you mean --version?"),
        ("plan --detailed-exit", "no such option: --detailed-exit", "mean --detailed-exitcode?"),
        ("unlock --force", "no such option: --force", "see proxyctl unlock --help"),
        ("init", "DIR is missing", "add it: proxyctl init --template pxc shop"),
        ("import", "import needs FILE.cnf or --users-from HOST", "see proxyctl import --help"),
        ("demo now", "unexpected argument: now", "see proxyctl demo --help"),
        (
            "plan a.yaml",
            "unexpected argument: a.yaml",
            "name files with -f: proxyctl plan -f a.yaml",
        ),
        ("plan --format", "option '--format' requires an argument", "see proxyctl plan --help"),
        ("diff", "no such command: diff", "did you mean plan?"),
        ("pull", "no such command: pull", "did you mean export?"),
        ("status", "no such command: status", "did you mean doctor?"),
        ("drain db1", "no such command: drain", "did you mean nodes drain?"),
        (
            "apply --check",
            "no such option: --check",
            "run plan: it shows what an apply would change",
        ),
        ("plan --diff", "no such option: --diff", "run plan: it shows what an apply would change"),
        ("plan --password x", "no such option: --password", "did you mean --password-file?"),
        ("plan -lock=false", "no such option: -lock", "see proxyctl plan --help"),
        ("export all.yaml", "unexpected argument: all.yaml", "proxyctl export -o all.yaml"),
        ("plan -psecret", "no such option: -p", "did you mean --password-file?"),
        ("plan -h 10.0.0.1", "-h shows the help", "did you mean --host 10.0.0.1?"),
        ("plan -o json", "-o json: json is a format, not a file", "did you mean --format json?"),
        ("plan --ssl-ca ca.pem", "no such option: --ssl-ca", "did you mean --tls-ca?"),
        ("digest top -n 5", "no such option: -n", "did you mean --limit?"),
        ("schema --json", "no such option: --json", "see proxyctl schema --help"),
        ("explain SELECT 1", "unexpected argument: 1", "in quotes: proxyctl explain 'SELECT 1'"),
        ("doctor px1", "unexpected argument: px1", "see proxyctl doctor --help"),
        ("plan -psecret=x", "no such option: -p", "did you mean --password-file?"),
        ("plan help", "unexpected argument: help", "see proxyctl plan --help"),
        ("help plna", "no such command or topic: plna", "did you mean plan?"),
        ("help conection", "no such command or topic: conection", "did you mean connection?"),
        (
            "help wrong",
            "no such command or topic: wrong",
            "name a command or a topic: files, connection, fleet, servers, stores, general",
        ),
        ("nodes drain --port", "option '--port' requires an argument", "nodes drain --help"),
    ],
)
def test_one_line_of_reason_and_one_of_fix(line: str, message: str, fix: str) -> None:
    done = proxyctl(*line.split())
    assert (done.code, done.out) == (64, "")
    reason, fix_line = done.err.splitlines()
    assert reason == f"error: {message}"
    assert fix_line.startswith("fix: ")
    assert fix in fix_line


@pytest.mark.parametrize(
    ("line", "reason", "fix"),
    [
        (
            "export --layer runtim",
            "--layer: 'runtim' is not one of 'runtime', 'memory', 'disk'",
            "see proxyctl export --help",
        ),
        ("plan --port abc", "--port abc: expected an integer", "see proxyctl plan --help"),
        (
            "plan --port 70000",
            "--port 70000: expected at most 65535",
            "see proxyctl plan --help",
        ),
        ("digest tpo", "no such command: digest tpo", "did you mean digest top?"),
        (
            "apply --lock-timeout -1",
            "--lock-timeout -1: expected at least 0",
            "see proxyctl apply --help",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_option(line: str, reason: str, fix: str) -> None:
    done = proxyctl(*line.split())
    assert (done.code, done.out, done.err) == (64, "", f"error: {reason}\nfix: {fix}\n")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("apply --strategy rolling", "--strategy needs --all"),
        ("apply --max-unavailable 2", "--max-unavailable needs --all"),
        ("apply --skip-unreachable", "--skip-unreachable needs --all"),
        ("apply --parallel 3", "--parallel needs --all"),
        ("plan --parallel 3", "--parallel needs --all"),
        ("drift --parallel 3", "--parallel needs --all"),
        ("doctor --parallel 3", "--parallel needs --all"),
        (
            "apply --all --strategy canary --max-unavailable 2",
            "--max-unavailable needs --strategy rolling",
        ),
        (
            "import --users-from db1",
            "--users-from needs --backend-user: an account that reads mysql.user",
        ),
        ("import --users-from db1 --backend-user=", "--backend-user: the name is empty"),
        ("import --users-from b,a --backend-user b", "--users-from 'b,a': expected one server"),
        ("import --users-from= --backend-user b", "--users-from '': expected one server"),
        ("import proxysql.cnf --users-from db1", "import needs FILE.cnf or --users-from HOST"),
        ("import proxysql.cnf --select app_*", "--select needs --users-from HOST"),
        ("import proxysql.cnf --update users.yaml", "--update needs --users-from HOST"),
        ("import proxysql.cnf --update=", "--update needs --users-from HOST"),
        (
            "import proxysql.cnf --default-hostgroup 5",
            "--default-hostgroup needs --users-from HOST",
        ),
        ("import --users-from db1 --backend-user b --update=", "--update '': expected a file"),
        ("import --users-from db1 --backend-user b --check", "--check needs --update FILE"),
        ("import --users-from db1 --update -", "--update -: expected a file"),
        (
            "import --users-from db1 --update users.yaml -o users.yaml",
            "--update cannot be used with --out",
        ),
        (
            "import --users-from db1 --update users.yaml --secrets clear",
            "--update cannot write passwords in clear text: the server has only their hashes",
        ),
        ("import script.sql", "script.sql: import reads a proxysql.cnf, not SQL"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused_before_any_connection(
    offline: Project, line: str, message: str
) -> None:
    offline.write("version: 1\ninstances: [{name: px1, host: 127.0.0.1, port: 1}]\n")
    done = proxyctl(*line.split())
    assert (done.code, done.out) == (64, "")
    assert done.err.splitlines()[0] == f"error: {message}"


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("export -o -", "leave out -o to write to stdout"),
        ("import a.cnf --out=-", "leave out -o to write to stdout"),
        ("nodes discover --seed db1 -o-", "leave out -o to write to stdout"),
        ("plan -o -", "name a file"),
        ("digest report -o -", "name a file"),
        ("digest snapshot -o -", "name a file"),
    ],
)
def test_a_dash_is_no_file_to_write(line: str, fix: str) -> None:
    done = proxyctl(*line.split())
    assert (done.code, done.out) == (64, "")
    assert done.err == f"error: --out -: expected a file\nfix: {fix}\n"


def test_a_port_in_the_host_is_moved_into_its_option(offline: Project) -> None:
    offline.write("version: 1\n")
    done = proxyctl("plan", "--host", "db:6032")
    assert (done.code, done.out) == (64, "")
    assert done.err.splitlines() == [
        "error: --host db:6032: expected a host without a port",
        "fix: did you mean --host db --port 6032?",
    ]


@pytest.mark.parametrize(
    ("name", "kind", "fix"),
    [
        ("proxysql.cnf", "a configuration file of ProxySQL", "proxyctl import proxysql.cnf -o "),
        ("setup.sql", "SQL statements", "send them to ProxySQL's admin interface, then"),
    ],
)
def test_a_file_of_another_kind_leads_to_the_command_for_it(
    offline: Project, name: str, kind: str, fix: str
) -> None:
    offline.write("INSERT INTO mysql_servers VALUES (1, 'db1');\n", name)
    for command in ("plan", "validate"):
        reason, fix_line = proxyctl(command, "-f", name).err.splitlines()
        assert reason == f"error: {name}: {kind}, not YAML"
        assert fix_line.startswith(f"fix: {fix}")


def test_a_wrong_value_of_the_environment_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXYCTL_PORT", "abc")
    assert proxyctl("plan").err.startswith("error: PROXYCTL_PORT abc: ")


def test_help_is_a_command_too() -> None:
    assert proxyctl("help").out == proxyctl("--help").out
    assert proxyctl("help", "plan").out == proxyctl("plan", "--help").out


def test_it_is_json_where_json_was_asked_for() -> None:
    error = proxyctl("plan", "--format", "json", "--colour").json["error"]
    assert (error["type"], error["exit_code"]) == ("UsageError", 64)
    assert error["message"] == "no such option: --colour"
