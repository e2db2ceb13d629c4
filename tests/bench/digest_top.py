"""Speed of `digest top` with a million digests, against a plain SELECT in the mariadb client.

ProxySQL fills its own map with random digests (PROXYSQLTEST 1): as many entries as one wants within
seconds, of ten thousand digest texts under a hundred users and schemas. The yardstick groups
nothing: it sorts the table as it stands and takes the first twenty rows. Both copy the whole map.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench.line import Line
from tests.bench.measure import Fastest, Run, run
from tests.servers import NO_BINARY, ProxySQL, proxysql_binary

THOUSANDS = 1_022
"""Some of them are the same: this leaves a million entries."""
ROUNDS = 3
BAR = 1.3
MEGABYTES = 150.0
_YARDSTICK = "SELECT * FROM stats_mysql_query_digest ORDER BY sum_time DESC LIMIT 20"
_ALL = "digest,hostgroup,schemaname,username,client_address"
_WAYS = {
    "by digest": (),
    "every entry for itself": ("--group", _ALL),
    "by user, as JSON": ("--group", "username", "--format", "json"),
    "with filters": ("--text", "table1%where", "--min-count", "2", "--min-avg", "1ms"),
    "with rules": ("--rule",),
}


def lines(folder: Path) -> Iterator[Line]:
    """Measure each way and the yardstick in turns; of each the fastest run counts."""
    binary, client = proxysql_binary(), shutil.which("mariadb") or shutil.which("mysql")
    if binary is None or client is None:
        print(f"SKIPPED: {NO_BINARY if binary is None else 'no mariadb client'}")  # noqa: T201
        return
    with ProxySQL(binary, folder / "proxysql") as server:
        server.instance.execute(f"PROXYSQLTEST 1 {THOUSANDS}")
        fastest = Fastest()
        for _ in range(ROUNDS):
            fastest.add("client", _client(client, server))
            for name, options in _WAYS.items():
                fastest.add(name, _top(server, options))
    for name in _WAYS:
        found = fastest[name]
        what = f"digest top of 1,000,000, {name}"
        yield Line(what, found.seconds, fastest["client"].seconds, BAR)
        yield Line(f"digest top, {name}: peak memory", found.megabytes, MEGABYTES, 1.0, "MB")


def _client(client: str, server: ProxySQL) -> Run:
    found = run(
        [
            client, "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uradmin", "-pradmin",
            "-e", _YARDSTICK,
        ],
    )  # fmt: skip
    assert found.code == 0, found.output
    return found


def _top(server: ProxySQL, options: tuple[str, ...]) -> Run:
    environment = {
        "PROXYCTL_PORT": str(server.port),
        "PROXYCTL_USER": "radmin",
        "PROXYCTL_PASSWORD": "radmin",
    }
    found = run([sys.executable, "-m", "proxyctl", "digest", "top", *options], env=environment)
    assert found.code == 0, found.output
    return found


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="proxyctl-bench-") as name:
        for line in lines(Path(name)):
            print(line.text())  # noqa: T201
