"""A fleet of a hundred: one `plan --all` against ten plans, one after the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from proxyctl.sandbox import Sandbox
from tests.support.commands.measure import Fastest, Line, Run, run

INSTANCES = 100
PASSWORD = {"PROXYCTL_PASSWORD": "admin"}
ONE_BY_ONE = 10
ROUNDS = 3
FILES = """\
version: 1
mysql_servers: [{hostgroup_id: 10, hostname: db1}, {hostgroup_id: 20, hostname: db2}]
mysql_query_rules:
"""
RULE = (
    "  - {{rule_id: {0}, match_digest: '^SELECT {0} ', destination_hostgroup: 20, apply: true}}\n"
)


def lines(folder: Path) -> list[Line]:
    """Measure in a folder of its own; return the lines of the table."""
    folder.mkdir()
    with served(folder, INSTANCES):
        write_files(folder)
        fastest = Fastest()
        for _ in range(ROUNDS):
            fastest.add("all", plan(folder, "--all", "--instances-from", f"cat {folder}/all.json"))
            fastest.add("ten", _ten(folder))
    together, apart = fastest["all"], fastest["ten"]
    return [
        Line("plan --all of 100 / ten plans", together.seconds, apart.seconds, 3.0),
        Line("plan --all of 100: peak memory", together.megabytes, 200, 1.0, "MB"),
    ]


def _ten(folder: Path) -> Run:
    runs = [
        plan(folder, "--port", port) for port in (folder / "ports").read_text().split()[:ONE_BY_ONE]
    ]
    return Run(
        sum(planned.seconds for planned in runs), max(planned.megabytes for planned in runs), 0, ""
    )


def write_files(folder: Path) -> None:
    """Write the files of the fleet: two servers and 200 rules."""
    rules = "".join(map(RULE.format, range(1, 201)))
    (folder / "proxyctl.yaml").write_text(FILES + rules)


def plan(folder: Path, *options: str) -> Run:
    """Run plan with these options."""
    command = [sys.executable, "-m", "proxyctl", "plan", "-f", str(folder / "proxyctl.yaml")]
    found = run([*command, *options], env=PASSWORD)
    assert found.code == 0, found.output
    return found


@contextmanager
def served(folder: Path, instances: int) -> Iterator[None]:
    """Serve so many empty instances, from a process of their own.

    It writes the files `ports`, and `all.json` for --instances-from.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.fleet", str(folder), str(instances)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.communicate()


def _serve(folder: Path, instances: int) -> None:
    """Serve sandboxes until stdin ends."""
    with ExitStack() as stack:
        ports = [stack.enter_context(Sandbox()).port for _ in range(instances)]
        (folder / "ports").write_text(" ".join(map(str, ports)))
        listed = ",\n".join(
            f'{{"name": "px{number}", "host": "127.0.0.1", "port": {port}}}'
            for number, port in enumerate(ports, 1)
        )
        (folder / "all.json").write_text(f"[{listed}]")
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
