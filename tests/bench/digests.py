"""Speed of the commands about digests, with a million of them.

ProxySQL fills its own map with random digests (PROXYSQLTEST 1): within seconds, any number of
entries, of ten thousand digest texts under a hundred users and schemas. The commands that read
digests are compared with the mariadb client: a snapshot with a dump, `digest top` with the SELECT
that a person would write for the same list. They run in turns, measured in wall time and in
processor time, ProxySQL's included.

Commands that read a snapshot run alone. Where the wall time misses the bar and the processor time
does not, other processes had the processor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proxyctl.catalog import REFERENCE
from proxyctl.routing.digest import Digester
from proxyctl.stats.digest_file import write_digest_file
from proxyctl.stats.model import DigestRows, DigestTable, SeenDigest
from tests.support.commands.measure import Fastest, Line, Run, client, login, run
from tests.support.servers.instances import NO_BINARY, ProxySQL, proxysql_binary

COUNT = 1_000_000
_PLACES = 50
_TEMPLATES = (
    "SELECT name, price FROM items{} WHERE id = 1",
    "SELECT a.id, b.total FROM orders{} a JOIN parts b ON a.id = b.id WHERE a.day > 7 ORDER BY 2",
    "SELECT code, label FROM countries{}",
    "UPDATE stock{} SET left_over = left_over - 1 WHERE item = 5",
    "INSERT INTO log{} (a, b) VALUES (1, 'x')",
)
_WRITER, _READER = 10, 20

FILES = """\
version: 1
hostgroups:
  writer: {id: 10}
  reader: {id: 20}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users:
"""


def write_snapshot(path: Path) -> None:
    """Write the digests into a file as `digest snapshot` does."""
    snapshot = DigestTable(
        "bench", "bench", str(REFERENCE), 2_000_000, DigestRows(COUNT, _rows), uptime=1_000_000
    )
    write_digest_file(snapshot, path)


def write_files(folder: Path, *, rules: int) -> None:
    """Write a project with all the users, and rules that match few queries."""
    users = "".join(
        f"  - {{username: app{number}, default_hostgroup: writer}}\n" for number in range(_PLACES)
    )
    lines = "".join(
        f"  - {{rule_id: {number * 10}, match_digest: '^SELECT .* FROM orders{number} ',"
        f" destination_hostgroup: reader, apply: true}}\n"
        for number in range(1, rules + 1)
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "proxyctl.yaml").write_text(FILES + users + "mysql_query_rules:\n" + lines)


def _rows() -> Iterator[SeenDigest]:
    digester = Digester()
    for number in range(COUNT // _PLACES):
        made = digester.digest(_TEMPLATES[number % len(_TEMPLATES)].format(number))
        digest, text = made.hexadecimal, made.text.decode()
        calls = 1 + 2_000_000 // (number + 1)
        time_us = 200 + 7_919 * number % 3_000 * (50 if number % 1_000 == 1 else 1)
        sent = calls if text.startswith("SELECT") else 0
        hostgroup = _READER if "orders" in text else _WRITER
        for place in range(_PLACES):
            yield SeenDigest(
                hostgroup, f"shop{place}", f"app{place}", "", digest, text,
                calls, 1_000_000 + place, 1_999_000,
                calls * time_us, 100, 10 * time_us, calls - sent, sent,
            )  # fmt: skip


ROUNDS = 3
SNAPSHOT_BAR = 1.5
"""Against what the mariadb client needs to write the table into a file."""
MEGABYTES = 300.0
REPORT_S = 20.0
REPORT_MEGABYTES = 5.0
SUGGEST_S = 30.0
RULES = 30

TOP_BAR = 1.3
TOP_MEGABYTES = 150.0
THOUSANDS = 1_022
"""Some of them are the same: this leaves a million entries."""


class DigestServer:
    """The server. Its processor time is added to that of the client."""

    def __init__(self, server: ProxySQL) -> None:
        self._server = server
        self._client = client(server.port)

    def proxyctl(self, *arguments: str) -> Run:
        """Run a command of proxyctl."""
        command = [sys.executable, "-m", "proxyctl", *arguments]
        return _checked(run(command, env=login(self._server.port), server=self._server.pid))

    def select(self, statement: str) -> Run:
        """Let the client run one statement."""
        return _checked(run([*self._client, "-e", statement], server=self._server.pid))

    def dump(self, table: str, path: Path) -> Run:
        """Let the client write a table into a file, compressed as a snapshot is."""
        # The client holds nothing back (--quick), and gzip runs beside it.
        shell = '"$@" | gzip -1 > "$0"'
        read = [*self._client, "--quick", "-N", "-e", f"SELECT * FROM {table}"]
        return _checked(run(["sh", "-c", shell, str(path), *read], server=self._server.pid))


def _checked(found: Run) -> Run:
    assert found.code == 0, found.output
    return found


@contextmanager
def digest_server(folder: Path) -> Iterator[DigestServer | None]:
    """Yield the server; where a program is missing, print which and yield None."""
    binary = proxysql_binary()
    if binary is None or not client(0):
        print(f"SKIPPED: {NO_BINARY if binary is None else 'no mariadb client'}")  # noqa: T201
        yield None
        return
    with ProxySQL(binary, folder) as server:
        server.instance.execute(f"PROXYSQLTEST 1 {THOUSANDS}")
        yield DigestServer(server)


def snapshot_lines(server: DigestServer, folder: Path) -> Iterator[Line]:
    """Measure a snapshot and the client's dump in turns, both compressed; then a report of it."""
    snapshot, fastest = folder / "snapshot.jsonl.gz", Fastest()
    for _ in range(ROUNDS):
        dump = server.dump("stats_mysql_query_digest", folder / "dump.gz")
        fastest.add("dump", dump)
        snapshot.unlink(missing_ok=True)  # an earlier snapshot is not replaced
        fastest.add("ours", server.proxyctl("digest", "snapshot", "-o", str(snapshot)))
    ours, dump = fastest["ours"], fastest["dump"]
    yield Line(
        "digest snapshot of 1,000,000 / dump by client", ours.seconds, dump.seconds, SNAPSHOT_BAR
    )
    yield Line("digest snapshot of 1,000,000: CPU", ours.cpu_s, dump.cpu_s, SNAPSHOT_BAR)
    yield Line("digest snapshot: peak memory", ours.megabytes, MEGABYTES, 1.0, "MB")
    page = folder / "report.html"
    report = _proxyctl(REPORT_S, "digest", "report", str(snapshot), "-o", str(page))
    yield Line("digest report of 1,000,000", report.seconds, REPORT_S, 1.0)
    yield Line("digest report of 1,000,000: CPU", report.cpu_s, REPORT_S, 1.0)
    yield Line("digest report: size", page.stat().st_size / 1e6, REPORT_MEGABYTES, 1.0, "MB")


def suggest_lines(folder: Path) -> Iterator[Line]:
    """Measure `digest suggest` for a million digests, as traffic would leave them."""
    snapshot, files = folder / "million.jsonl", folder / "files"
    write_snapshot(snapshot)
    write_files(files, rules=RULES)
    found = _proxyctl(SUGGEST_S, "digest", "suggest", "--digests", str(snapshot), "-f", str(files))
    yield Line("digest suggest of 1,000,000", found.seconds, SUGGEST_S, 1.0)
    yield Line("digest suggest of 1,000,000: CPU", found.cpu_s, SUGGEST_S, 1.0)
    yield Line("digest suggest: peak memory", found.megabytes, MEGABYTES, 1.0, "MB")


def _proxyctl(bar_s: float, *arguments: str) -> Run:
    """Return the fastest run; run again only while the bar is missed."""
    fastest = Fastest()
    for _ in range(ROUNDS):
        found = run([sys.executable, "-m", "proxyctl", *arguments])
        assert found.code == 0, found.output
        fastest.add("ours", found)
        if found.seconds <= bar_s:
            break
    return fastest["ours"]


# -- digest top ------------------------------------------------------------------------------------

_SUMS = (
    "count(*), sum(count_star), min(first_seen), max(last_seen), sum(sum_time) AS time,"
    " min(min_time), max(max_time), sum(sum_rows_affected), sum(sum_rows_sent)"
)
_TABLE = "stats_mysql_query_digest"


def _select(columns: str, group: str, where: str = "", having: str = "") -> str:
    return (
        f"SELECT {columns}, {_SUMS} FROM {_TABLE} {where} GROUP BY {group} {having}"
        " ORDER BY time DESC LIMIT 20"
    )


_BY_DIGEST = _select("digest, max(digest_text)", "digest")
_WAYS: dict[str, tuple[tuple[str, ...], str]] = {
    "by digest": ((), _BY_DIGEST),
    "every entry for itself": (
        ("--group", "digest,hostgroup,schemaname,username,client_address"),
        f"SELECT * FROM {_TABLE} ORDER BY sum_time DESC LIMIT 20",
    ),
    "by user, as JSON": (
        ("--group", "username", "--format", "json"),
        _select("username", "username"),
    ),
    "with filters": (
        ("--text", "table1%where", "--min-count", "2", "--min-avg", "1ms"),
        _select(
            "digest, max(digest_text)",
            "digest",
            "WHERE digest_text LIKE '%table1%where%'",
            "HAVING sum(count_star) >= 2 AND sum(sum_time) >= 1000 * sum(count_star)",
        ),
    ),
    "with rules": (("--rule",), _BY_DIGEST),
}


def top_lines(server: DigestServer) -> Iterator[Line]:
    """Measure each way and its SELECT in turns."""
    ours, others = Fastest(), Fastest()
    for _ in range(ROUNDS):
        for name, (options, by_hand) in _WAYS.items():
            others.add(name, server.select(by_hand))
            ours.add(name, server.proxyctl("digest", "top", *options))
    for name in _WAYS:
        found, yardstick = ours[name], others[name]
        what = f"digest top of 1,000,000, {name}"
        yield Line(what, found.seconds, yardstick.seconds, TOP_BAR)
        yield Line(f"{what}: CPU", found.cpu_s, yardstick.cpu_s, TOP_BAR)
        yield Line(f"digest top, {name}: peak memory", found.megabytes, TOP_MEGABYTES, 1.0, "MB")


# -- all of them ----------------------------------------------------------------------------------


def lines(folder: Path) -> Iterator[Line]:
    """Measure everything; nothing at the instance where a program is missing."""
    with digest_server(folder / "proxysql") as server:
        if server is not None:
            yield from snapshot_lines(server, folder)
            yield from top_lines(server)
    yield from suggest_lines(folder)
