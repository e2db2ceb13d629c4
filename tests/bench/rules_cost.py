"""What query rules cost ProxySQL: its processor time for a query, by the shape of the rules.

sysbench sends point selects on one of many tables through a real ProxySQL to one MariaDB, which
stands for every hostgroup. The tables are sharded as one rule a table, as rules per hostgroup, or
by schema with fast routing; without and with a read/write split in front. Processor time is read
from the process of ProxySQL, so a slow server changes nothing, and a busy machine little.

`python -m tests.bench.rules_cost` measures again and writes docs/pictures/rules-cost.csv.
"""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import yaml

from tests.support.commands.measure import Line, login, processor_time, run
from tests.support.paths import ROOT
from tests.support.servers.instances import NO_BINARY, ProxySQL, proxysql_binary
from tests.support.servers.mariadb import MISSING, PASSWORD, USER, MariaDB

RESULTS = ROOT / "docs" / "pictures" / "rules-cost.csv"
SCRIPT = Path(__file__).with_suffix(".lua")

SIZES = (60, 1_000, 10_000)
SHAPES = ("no_sharding", "per_table", "per_hostgroup", "fast_routing")
WRITERS = [100, 101, 102, 103, 104, 105]
READERS = [200, 201, 202, 203, 204, 205]
THREADS = 8
SECONDS = 3
RUNS = 3
"""How often each configuration is measured, after one run to warm up; the cheapest run counts."""
ROWS = 10

MANY_TABLES = (
    "--default-storage-engine=MEMORY",
    "--sync-frm=0",
    "--table-open-cache=20000",
    "--table-definition-cache=20000",
)
"""Options of MariaDB: ten thousand tables are made in seconds, and all stay open."""


@dataclass(frozen=True)
class Cost:
    """The cost of one configuration. Units: queries a second, microseconds of processor time."""

    shape: str
    names: int
    """The tables that queries name, or the schemas that they are in."""
    is_split: bool
    rules: int
    """Rows in mysql_query_rules."""
    queries_per_s: float
    us_per_query: float


class Rig:
    """MariaDB with all the tables, and ProxySQL in front of it."""

    def __init__(self, mariadb: MariaDB, server: ProxySQL, folder: Path) -> None:
        self._mariadb = mariadb
        self._server = server
        self._folder = folder

    def prepare(self) -> None:
        """Make every table and schema that the queries name."""
        fill = f"SELECT seq AS id, repeat('c', 120) AS c FROM seq_1_to_{ROWS}"
        schemas = {
            f"tenant_{thread * (size // THREADS) + 1}"
            for size in SIZES
            for thread in range(THREADS)
        }
        tables = [f"sbtest.sbtest{number}" for number in range(1, max(SIZES) + 1)]
        statements = [f"CREATE DATABASE {schema}" for schema in sorted(schemas)]
        statements += [
            f"CREATE TABLE {table} (id int PRIMARY KEY, c char(120)) {fill}"
            for table in (*tables, *(f"{schema}.sbtest1" for schema in sorted(schemas)))
        ]
        for start in range(0, len(statements), 500):
            self._mariadb.run(f"USE sbtest; {'; '.join(statements[start : start + 500])}")

    def cost(self, shape: str, names: int, *, is_split: bool) -> Cost:
        """Apply a configuration and send queries."""
        rules = self._apply(configuration(self._mariadb.port, shape, names, is_split=is_split))
        self._send(shape, names)
        measured = min(self._measured(shape, names) for _ in range(RUNS))
        return Cost(shape, names, is_split, rules, measured[1], measured[0])

    def _measured(self, shape: str, names: int) -> tuple[float, float]:
        """Send queries; return the microseconds of a query, and the queries of a second."""
        before = processor_time(self._server.pid)
        count, per_s = self._send(shape, names)
        return (processor_time(self._server.pid) - before) * 1e6 / count, per_s

    def _apply(self, document: dict[str, object]) -> int:
        file = self._folder / "proxyctl.yaml"
        file.write_text(yaml.safe_dump(document, sort_keys=False))
        options = ["-f", str(file), "--auto-approve", "--force", "--allow-shard-moves"]
        command = [sys.executable, "-m", "proxyctl", "apply", *options]
        environment = {
            **login(self._server.port),
            "PROXYCTL_STATE_DIR": str(self._folder / "state"),
        }
        done = run(command, env=environment)
        if done.code:
            raise RuntimeError(done.output[-2000:])
        [(rules,)] = self._server.instance.query("SELECT count(*) FROM runtime_mysql_query_rules")
        return int(rules or 0)

    def _send(self, shape: str, names: int) -> tuple[int, float]:
        """Send queries; return their number, and how many there were in a second."""
        command = [
            "sysbench", str(SCRIPT), "--db-driver=mysql", "--db-ps-mode=disable",
            "--mysql-host=127.0.0.1", f"--mysql-port={self._server.traffic_port}",
            f"--mysql-user={USER}", f"--mysql-password={PASSWORD}", "--mysql-db=sbtest",
            f"--threads={THREADS}", f"--time={SECONDS}", "--events=0", f"--names={names}",
            f"--by_schema={'on' if shape == 'fast_routing' else 'off'}", "run",
        ]  # fmt: skip
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = re.search(r"queries: +(\d+) +\(([\d.]+) per sec", done.stdout)
        assert found, done.stdout
        return int(found[1]), float(found[2])


def configuration(port: int, shape: str, names: int, *, is_split: bool) -> dict[str, object]:
    """Return the files: servers, the user, and the tables sharded in a shape."""
    hostgroups = [*WRITERS, *READERS]
    document: dict[str, object] = {
        "version": 1,
        "mysql_servers": [
            {"hostgroup_id": number, "hostname": "127.0.0.1", "port": port} for number in hostgroups
        ],
        "mysql_users": [{"username": USER, "password": PASSWORD, "default_hostgroup": WRITERS[0]}],
        "mysql_query_rules": [],
        "mysql_query_rules_fast_routing": [],
    }
    if is_split:
        # Reads go on with flagIN 1, to the reader of each shard; everything else with 0.
        document["mysql_query_rules"] = [
            {"rule_id": 1, "match_digest": "^SELECT", "flagOUT": 1},
            {"rule_id": 2, "flagIN": 1, "match_digest": "FOR UPDATE$", "flagOUT": 0},
        ]
    if shape != "no_sharding":
        sides = [("writers", 0, WRITERS), *([("readers", 1, READERS)] if is_split else [])]
        document["sharding"] = [_scheme(shape, names, *side) for side in sides]
    return document


def _scheme(
    shape: str, names: int, name: str, flag: int, hostgroups: list[int]
) -> dict[str, object]:
    scheme: dict[str, object] = {"name": name, "hostgroups": hostgroups, "flagIN": flag}
    if shape == "fast_routing":
        return scheme | {"schemas": f"tenant_{{1..{names}}}", "username": USER}
    first = 1_000 + flag * 100_000
    return scheme | {"tables": f"sbtest{{1..{names}}}", "rules": shape, "first_rule_id": first}


@contextmanager
def _rig(folder: Path, binary: str) -> Iterator[Rig]:
    with (
        MariaDB(folder, options=MANY_TABLES) as mariadb,
        ProxySQL(binary, folder / "proxysql") as server,
    ):
        rig = Rig(mariadb, server, folder)
        rig.prepare()
        yield rig


def costs(folder: Path, binary: str) -> Iterator[Cost]:
    """Measure every shape and size."""
    with _rig(folder, binary) as rig:
        for is_split in (False, True):
            for names in SIZES:
                for shape in SHAPES:
                    yield rig.cost(shape, names, is_split=is_split)


def lines(folder: Path) -> Iterator[Line]:
    """Measure the shapes whose cost must not grow with the number of tables."""
    binary = proxysql_binary()
    if binary is None or MISSING:
        print(f"SKIPPED: {NO_BINARY if binary is None else ', '.join(MISSING)}")  # noqa: T201
        return
    with _rig(folder, binary) as rig:
        names = max(SIZES)
        without = rig.cost("no_sharding", names, is_split=False).us_per_query
        for shape, text in (
            ("per_hostgroup", "rules per hostgroup"),
            ("fast_routing", "fast routing"),
        ):
            cost = rig.cost(shape, names, is_split=False).us_per_query
            yield Line(f"query: {text} of {names:,} names / no rules", cost, without, 1.5, "us")


def main() -> int:
    """Measure, print and write the table of the page."""
    binary = proxysql_binary()
    if binary is None or MISSING:
        print(f"SKIPPED: {NO_BINARY if binary is None else ', '.join(MISSING)}")  # noqa: T201
        return 1
    with tempfile.TemporaryDirectory(prefix="proxyctl-bench-") as name:
        found = []
        for cost in costs(Path(name), binary):
            found.append(astuple(cost))
            print(*found[-1], flush=True)  # noqa: T201
    with RESULTS.open("w", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(Cost))
        writer.writerows(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
