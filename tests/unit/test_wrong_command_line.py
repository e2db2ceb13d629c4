"""A wrong command line: one message and a way out, whatever Typer would have said."""

from __future__ import annotations

import pytest

from tests.support.cli import Project, proxyctl


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("plna", "no such command: plna", "did you mean plan?"),
        ("Plan", "no such command: Plan", "did you mean plan?"),
        ("watch", "no such command: watch", "commands: init, validate, "),
        ("help watch", "no such command: watch", "commands: init, validate, "),
        ("version", "no such command: version", "did you mean --version?"),
        ("--file a.yaml plan", "no such option: --file", "options follow the command"),
        ("apply --yes", "no such option: --yes", "did you mean --auto-approve?"),
        ("apply -auto-approve", "no such option: -auto-approve", "did you mean --auto-approve?"),
        ("plan -out=a.plan", "no such option: -out", "did you mean --out=a.plan?"),
        ("plan -json", "no such option: -json", "did you mean --format json?"),
        ("plan --json", "no such option: --json", "did you mean --format json?"),
        ("plan -target=a", "no such option: -target", "did you mean --only?"),
        ("digest top -limit 3", "no such option: -limit", "did you mean --limit?"),
        ("apply --dry-run", "no such option: --dry-run", "plan shows what an apply would change"),
        ("-version", "no such option: -version", "did you mean --version?"),
        ("plan --detailed-exit", "no such option: --detailed-exit", "mean --detailed-exitcode?"),
        ("unlock --force", "no such option: --force", "see proxyctl unlock --help"),
        ("init", "DIR is missing", "see proxyctl init --help"),
        ("import", "import needs FILE.cnf or --users-from HOST", "proxyctl import --help shows"),
        ("demo now", "unexpected argument: now", "see proxyctl demo --help"),
        (
            "plan a.yaml",
            "unexpected argument: a.yaml",
            "name files with -f: proxyctl plan -f a.yaml",
        ),
        ("plan --format", "option '--format' requires an argument", "see proxyctl plan --help"),
    ],
)
def test_one_line_of_reason_and_one_of_fix(line: str, message: str, fix: str) -> None:
    done = proxyctl(*line.split())
    assert (done.code, done.out) == (64, "")
    said, way_out = done.err.splitlines()
    assert said == f"error: {message}"
    assert way_out.startswith("fix: ")
    assert fix in way_out


@pytest.mark.parametrize(
    ("line", "reason", "fix"),
    [
        ("plan --format xml", "--format: no such value: xml", "one of: text, json, markdown, sql"),
        ("export --layer runtim", "--layer: no such value: runtim", "did you mean runtime?"),
        ("plan --port abc", "--port: expected a whole number", "see proxyctl plan --help"),
        ("plan --port 70000", "--port: expected at most 65535", "see proxyctl plan --help"),
        ("digest tpo", "no such command: digest tpo", "did you mean digest top?"),
        (
            "apply --lock-timeout -1",
            "--lock-timeout: expected at least 0",
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
            "--max-unavailable goes with --strategy rolling",
        ),
        (
            "import --users-from db1",
            "--users-from needs --backend-user: an account that reads mysql.user",
        ),
        ("import --users-from db1 --backend-user=", "--backend-user: the name is empty"),
        ("import proxysql.cnf --users-from db1", "import needs FILE.cnf or --users-from HOST"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused_before_any_connection(
    offline: Project, line: str, message: str
) -> None:
    offline.write("version: 1\ninstances: [{name: px1, host: 127.0.0.1, port: 1}]\n")
    done = proxyctl(*line.split())
    assert (done.code, done.out) == (64, "")
    assert done.err.splitlines()[0] == f"error: {message}"


def test_a_wrong_value_of_the_environment_is_named_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROXYCTL_PORT", "abc")
    assert proxyctl("plan").err.startswith("error: PROXYCTL_PORT: ")


def test_help_is_a_command_too() -> None:
    assert proxyctl("help").out == proxyctl("--help").out
    assert proxyctl("help", "plan").out == proxyctl("plan", "--help").out


def test_it_is_json_where_json_was_asked_for() -> None:
    error = proxyctl("plan", "--format", "json", "--colour").json["error"]
    assert (error["type"], error["exit_code"]) == ("UsageError", 64)
    assert error["message"] == "no such option: --colour"
