"""How long a small command takes to start: Python, the libraries, then our own modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.bench import data
from tests.support.commands.measure import Line, best, run

ROUNDS = 9
LIBRARIES = "import pydantic, pymysql, typer, yaml"
"""The libraries imported by every command that reads files and an instance."""


def lines(folder: Path, env: Mapping[str, str]) -> list[Line]:
    """Measure `--version`, and `validate` and `plan` of five rules. `env` logs in to ProxySQL.

    Python, the libraries and the commands run in turns, and the least processor time of each
    counts.
    """
    folder.mkdir()
    (folder / "proxyctl.yaml").write_text(
        "version: 1\nmysql_query_rules:\n"
        + "\n".join(data.rule_line(number) for number in range(1, 6))
    )
    python = [sys.executable, "-c"]
    proxyctl = [sys.executable, "-m", "proxyctl"]
    files = ["-f", str(folder)]
    applied = run([*proxyctl, "apply", "--auto-approve", *files], env=env)
    assert applied.code == 0, applied.output
    commands = {
        "nothing": [*python, "pass"],
        "libraries": [*python, LIBRARIES],
        "validate": [*proxyctl, "validate", *files],
        "plan": [*proxyctl, "plan", "--detailed-exitcode", *files],
    }
    cpu_s: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            measured = run(command, env=env)
            assert measured.code == 0, measured.output
            cpu_s[name] = min(measured.cpu_s, cpu_s.get(name, measured.cpu_s))
    nothing = best(ROUNDS, lambda: run([*python, "pass"]))
    version = best(ROUNDS, lambda: run([*proxyctl, "--version"]))
    libraries = cpu_s["libraries"] - cpu_s["nothing"]
    return [
        Line("proxyctl --version over python -c pass", version.seconds - nothing.seconds, 0.04, 1),
        Line(
            "validate of five rules: CPU / import of libraries",
            cpu_s["validate"] - cpu_s["nothing"],
            libraries,
            2.0,
        ),
        Line(
            "plan of five rules: CPU / import of libraries",
            cpu_s["plan"] - cpu_s["nothing"],
            libraries,
            3.0,
        ),
    ]
