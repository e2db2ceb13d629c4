"""`make bench`: prints one table; exit 1 when a bar is missed.

The yardsticks are measured in the same run: the mariadb client that reads or writes the same rows,
PyYAML's pure Python loader, and an empty Python program. A yardstick and the command compared with
it run in turns, and the fastest run of each counts: a busy machine slows both, and noise only ever
adds time.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import yaml

from proxyctl.catalog import REFERENCE, TABLES, layout_of
from proxyctl.config.files import Sources, load_project
from proxyctl.rows.sql import inserts
from tests.bench import (
    data,
    digest_fleet,
    digests,
    events,
    fleet,
    replay,
    routing,
    rules_cost,
    start,
    store,
    watch,
)
from tests.support.commands.measure import Fastest, Line, Run, client, login, run
from tests.support.servers.instances import NO_BINARY, ProxySQL, proxysql_binary

ROUNDS = 3
"""How often everything at the instance is measured."""
MORE_ROUNDS_S = 100
"""Until when a missed bar is measured again. More rounds lower both sides, and spare a bad one."""

TABLES_USED = ("mysql_query_rules", "mysql_query_rules_fast_routing", "mysql_users")


class Bench:
    """One ProxySQL, one large configuration, and the commands run against them."""

    def __init__(self, server: ProxySQL, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.fastest = Fastest()
        self.files = data.write_files(folder / "files")
        self.env = {**login(server.port), "PROXYCTL_STATE_DIR": str(folder / "state")}

    def proxyctl(self, *arguments: str) -> Run:
        command = [sys.executable, "-m", "proxyctl", *arguments, "-f", str(self.files)]
        found = run(command, env=self.env)
        if found.code:
            raise SystemExit(f"{' '.join(arguments)} gave {found.code}:\n{found.output[-2000:]}")
        return found

    def pipe(self, name: str, statements: list[str]) -> Run:
        path = self.folder / f"{name}.sql"
        path.write_text(";\n".join(statements) + ";\n")
        found = run(client(self.server.port), stdin=path, discard=True)
        assert found.code == 0, name
        return found

    def read(self, *tables: str) -> Run:
        """The client reads all three layers of the tables."""
        layers = ("main.", "runtime_", "disk.")
        reads = [f"SELECT * FROM {layer}{table}" for table in tables for layer in layers]
        return self.pipe("read", reads)

    def lines(self) -> list[Line]:
        rows = self._rows()
        started = time.monotonic()
        found: list[Line] = []
        rounds = 0
        while rounds < ROUNDS or (
            time.monotonic() - started < MORE_ROUNDS_S and not all(line.holds for line in found)
        ):
            self._round(rows)
            rounds += 1
            found = self._instance_lines()
        self._empty()
        return [
            *found,
            *_file_lines(self.files, self.folder),
            *start.lines(self.folder / "five", self.env),
        ]

    def _round(self, rows: list[str]) -> None:
        """Measure everything once, each next to its yardstick, and the slowest part twice."""
        fastest = self.fastest
        self._empty()
        fastest.add("write", self.pipe("write", rows))
        fastest.add("dump", self.read(*TABLES_USED))
        self._empty()
        fastest.add("first", self.proxyctl("apply", "--auto-approve"))
        fastest.add("plan", self.proxyctl("plan", "--detailed-exitcode"))
        for change_files in (data.change_one_rule, data.change_back):
            change_files(self.files)
            change = self.proxyctl("apply", "--auto-approve")
            assert "1 statement, 1 LOAD, 1 SAVE" in change.output, change.output
            fastest.add("change", change)
        fastest.add("load", self.pipe("load", ["LOAD MYSQL QUERY RULES TO RUNTIME"]))
        fastest.add("read", self.read(*TABLES_USED[:2]))

    def _instance_lines(self) -> list[Line]:
        fastest = self.fastest
        plan = fastest["plan"]
        return [
            Line(
                "plan without a change / client reads 3 layers",
                plan.seconds,
                fastest["dump"].seconds,
                1.4,
            ),
            Line("plan without a change: peak memory", plan.megabytes, 300, 1.0, "MB"),
            Line(
                "first apply / client writes, loads, saves, reads",
                fastest["first"].seconds,
                fastest["write"].seconds + fastest["dump"].seconds,
                1.75,
            ),
            Line("first apply: peak memory", fastest["first"].megabytes, 400, 1.0, "MB"),
            Line(
                "one changed rule / 1.2 plan + LOAD + read of module",
                fastest["change"].seconds,
                plan.seconds * 1.2 + fastest["load"].seconds + fastest["read"].seconds,
                1.0,
            ),
        ]

    def _rows(self) -> list[str]:
        tables = load_project(Sources((str(self.files),))).desired.tables
        statements = [f"DELETE FROM {table}" for table in TABLES_USED]
        for name in TABLES_USED:
            rows = tables[name].rows.values()
            statements += [s.sql for s in inserts(layout_of(TABLES[name], REFERENCE), rows)]
        for module in ("QUERY RULES", "USERS"):
            statements += [f"LOAD MYSQL {module} TO RUNTIME", f"SAVE MYSQL {module} TO DISK"]
        return statements

    def _empty(self) -> None:
        self.server.instance.execute(*(f"DELETE FROM {table}" for table in TABLES_USED))
        self.server.instance.load("MYSQL QUERY RULES", "MYSQL USERS", saves=True)


def _file_lines(files: Path, folder: Path) -> list[Line]:
    rules_only = folder / "rules"
    rules_only.mkdir(exist_ok=True)
    text = "\n".join(
        line for line in (files / "proxyctl.yaml").read_text().splitlines() if "csv" not in line
    )
    (rules_only / "proxyctl.yaml").write_text(text)
    started = time.process_time()
    yaml.load(text, yaml.SafeLoader)
    pure = time.process_time() - started
    load_project(Sources((str(rules_only),)))
    started = time.process_time()
    load_project(Sources((str(rules_only),)))
    ours = time.process_time() - started
    validated = min(
        run([sys.executable, "-m", "proxyctl", "validate", "-f", str(files)]).cpu_s
        for _ in range(ROUNDS)
    )
    return [
        Line("10,000 rules: parse, validate, compile / pure PyYAML", ours, pure, 0.25),
        Line("validate of 260,000 rows / pure PyYAML of the rules", validated, pure, 0.5),
    ]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="proxyctl-bench-") as name:
        folder = Path(name)
        lines = [*_lines_at_proxysql(folder), *routing.lines(folder), *replay.lines()]
        lines += fleet.lines(folder / "fleet")
        lines += watch.lines(folder / "watch")
        lines += events.lines(folder / "events")
        (folder / "digests").mkdir()
        lines += digests.lines(folder / "digests")
        (folder / "digest_fleet").mkdir()
        lines += digest_fleet.lines(folder / "digest_fleet")
        (folder / "store").mkdir()
        lines += store.lines(folder / "store")
        (folder / "rules_cost").mkdir()
        lines += rules_cost.lines(folder / "rules_cost")
    print(f"{'':<52} {'measured':>12} {'yardstick':>9} {'ratio':>7} {'bar':>7}")  # noqa: T201
    for line in lines:
        print(line.text())  # noqa: T201
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors + 1:
        print(f"load average {load:.1f} on {processors} processors: others worked here too")  # noqa: T201
    return 0 if all(line.holds for line in lines) else 1


def _lines_at_proxysql(folder: Path) -> list[Line]:
    binary = proxysql_binary()
    if binary is None or not client(0):
        print(f"SKIPPED: {NO_BINARY}" if binary is None else "SKIPPED: no mariadb client")  # noqa: T201
        return []
    with ProxySQL(binary, folder / "proxysql") as server:
        return Bench(server, folder).lines()


if __name__ == "__main__":
    sys.exit(main())
