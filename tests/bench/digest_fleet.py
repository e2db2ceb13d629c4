"""Speed of `digest top --all` over four real servers with 100,000 digests each.

ProxySQL fills its own maps (PROXYSQLTEST 1). One command for all is compared with the slowest of
four commands for one. They run in turns: the servers and the command share the processors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.support.commands.measure import Fastest, Line, Run, run
from tests.support.servers.instances import NO_BINARY, ProxySQL, proxysql_binary

SERVERS = 4
THOUSANDS = 101
"""Some of them are the same: this leaves some 100,000 entries."""
ROUNDS = 5
BAR = 2.0
MEGABYTES = 300.0


def lines(folder: Path) -> Iterator[Line]:
    """Measure; where ProxySQL is missing, print so."""
    binary = proxysql_binary()
    if binary is None:
        print(f"SKIPPED: {NO_BINARY}")  # noqa: T201
        return
    with ExitStack() as stack:
        servers = [
            stack.enter_context(ProxySQL(binary, folder / f"px{number}"))
            for number in range(1, SERVERS + 1)
        ]
        for server in servers:
            server.instance.execute(f"PROXYSQLTEST 1 {THOUSANDS}")
        files = folder / "proxyctl.yaml"
        files.write_text("version: 1\ninstances:\n" + "".join(map(_listed, servers)))
        yield from _measured(files)


def _listed(server: ProxySQL) -> str:
    return (
        f"  - {{name: px{server.port}, host: 127.0.0.1, port: {server.port}, user: radmin,"
        " password: radmin}\n"
    )


def _measured(files: Path) -> Iterator[Line]:
    fastest = Fastest()
    names = [line.split()[2].rstrip(",") for line in files.read_text().splitlines()[2:]]
    for _ in range(ROUNDS):
        for name in names:
            fastest.add(name, _top(files, "--instance", name))
        fastest.add("all", _top(files, "--all"))
    together = fastest["all"]
    slowest = max(fastest[name].seconds for name in names)
    yield Line("digest top --all of 4 x 100,000 / slowest of four", together.seconds, slowest, BAR)
    yield Line("digest top --all: peak memory", together.megabytes, MEGABYTES, 1.0, "MB")


def _top(files: Path, *options: str) -> Run:
    found = run([sys.executable, "-m", "proxyctl", "digest", "top", "-f", str(files), *options])
    assert found.code == 0, found.output
    return found
