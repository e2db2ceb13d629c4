"""The PostgreSQL side of a real ProxySQL 3.0: the same promises as on the MySQL side."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

import pytest

from tests.support.commands.cli import Project, proxyctl
from tests.support.commands.story import applied, apply, ended, plan, rolled_back
from tests.support.servers.instances import CONFIG, ProxySQL, free_port, needed_binary
from tests.support.waiting import until

USER = "postgres"
MISSING = [name for name in ("initdb", "pg_ctl") if shutil.which(name) is None]
"""The programs that are not there."""


class PostgreSQL:
    """A server that trusts every login. Shape: `port` of 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self.port = free_port()

    def create(self, template: PostgreSQL | None = None) -> None:
        """Create the data directory, as a copy of a stopped server's if one is given."""
        if template is None:
            run("initdb", "-D", self._data, "-U", USER, "-A", "trust", "--no-sync")
        else:
            run("cp", "-a", template._data, self._data)

    def start(self, *, is_standby: bool) -> None:
        """Start the server; a standby reports that it is in recovery, which ProxySQL checks."""
        signal = self._data / "standby.signal"
        run("touch" if is_standby else "rm", *([] if is_standby else ["-f"]), signal)
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
            f" -c shared_buffers=8MB -c fsync=off"
        )
        log = self._folder / "output.log"
        run("pg_ctl", "-D", self._data, "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        """Stop it at once."""
        run("pg_ctl", "-D", self._data, "-m", "fast", "-w", "stop")


class Pair:
    """Two servers, of which `primary` takes writes."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="proxyctl-pg-"))
        if os.geteuid() == 0:
            account = pwd.getpwnam(USER)
            os.chown(self._folder, account.pw_uid, account.pw_gid)
        folders = [self._folder / name for name in ("one", "two")]
        for folder in folders:
            run("mkdir", folder)
        self.primary, self.standby = map(PostgreSQL, folders)

    def __enter__(self) -> Self:
        self.primary.create()
        self.standby.create(self.primary)
        self.primary.start(is_standby=False)
        self.standby.start(is_standby=True)
        return self

    def __exit__(self, *exc: object) -> None:
        for server in (self.primary, self.standby):
            with suppress(subprocess.CalledProcessError):
                server.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def fail_over(self) -> None:
        """Make the standby the primary, and the primary a standby."""
        self.primary, self.standby = self.standby, self.primary
        for server in (self.standby, self.primary):
            server.stop()
        self.primary.start(is_standby=False)
        self.standby.start(is_standby=True)


def run(*command: object) -> None:
    """Run a command of PostgreSQL, which refuses root."""
    words = [str(word) for word in command]
    if os.geteuid() == 0:
        words = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *words]
    subprocess.run(words, check=True, capture_output=True, cwd="/")


pytestmark = [pytest.mark.real, pytest.mark.since("3.0.2", "no PostgreSQL side that is released")]

needs_postgresql = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {MISSING}")

TABLES = """\
version: 1
variables:
  pgsql-max_connections: 4096
pgsql_servers:
  - {hostgroup_id: 10, hostname: pg1, max_connections: 50}
  - {hostgroup_id: 20, hostname: pg2, comment: reads}
  - {hostgroup_id: 20, hostname: pg3}
pgsql_hostgroup_attributes:
  - {hostgroup_id: 20, max_num_online_servers: 5, servers_defaults: {weight: 7}}
pgsql_users:
  - {username: app, password: {env: APP_PASSWORD}, default_hostgroup: 10}
  - {username: batch, password: {env: OTHER_PASSWORD}, default_hostgroup: 10, active: false}
pgsql_query_rules:
  - {rule_id: 1, match_digest: '^SELECT', database: shop, destination_hostgroup: 20, apply: true}
  - {rule_id: 2, match_digest: '^DELETE', error_msg: 'not here'}
  - {rule_id: 3, match_digest: '^COPY', active: false, destination_hostgroup: 10}
pgsql_query_rules_fast_routing:
  - {username: app, database: shop, destination_hostgroup: 20, comment: ''}
pgsql_firewall_whitelist_users: [{username: app, client_address: '', mode: DETECTING, comment: ''}]
pgsql_firewall_whitelist_rules:
  - {username: app, client_address: '', database: shop, digest: '0x1', comment: ''}
pgsql_firewall_whitelist_sqli_fingerprints: [{fingerprint: s&1o1}]
"""


def start(folder: Path, *, monitor: bool) -> ProxySQL:
    """Return a ProxySQL whose monitor asks PostgreSQL servers every 200 ms."""
    words = {
        "interfaces": f'"127.0.0.1:{free_port()}"',
        "monitor_enabled": str(monitor).lower(),
        "monitor_username": f'"{USER}"',
        "monitor_read_only_interval": "200",
    }
    pgsql = "".join(f"    {name}={value}\n" for name, value in words.items())
    return ProxySQL(
        needed_binary(), folder, config=f"{CONFIG}pgsql_variables=\n{{{{\n{pgsql}}}}}\n"
    )


@pytest.fixture
def proxysql(tmp_path: Path, offline: Project) -> Iterator[ProxySQL]:
    with start(tmp_path / "proxysql", monitor=False) as server:
        offline.connect(server.instance)
        yield server


@pytest.fixture
def project(proxysql: ProxySQL, offline: Project) -> Project:
    offline.write(TABLES)
    return offline


def rows(server: ProxySQL, what: str) -> list[tuple[str | None, ...]]:
    return server.instance.query(f"SELECT {what}")


def test_an_edit_by_hand_is_drift_then_pending_and_given_up_or_published(
    proxysql: ProxySQL, project: Project
) -> None:
    applied()
    edit = proxysql.instance.execute
    edit("UPDATE pgsql_servers SET weight=9 WHERE hostname='pg2'")
    drift = proxyctl("drift")
    assert (drift.code, "weight" in drift.out) == (2, True), drift.text
    edit("INSERT INTO pgsql_users (username, password) VALUES ('other', 'x')")
    project.write(TABLES.replace("max_connections: 50", "max_connections: 60"))
    refused = apply()
    ended(refused, 3, "PGSQL USERS: 2 pending edits", "pgsql user other: row added in MEMORY")
    applied("--discard-pending")
    assert plan().code == 0
    assert rows(proxysql, "weight FROM runtime_pgsql_servers WHERE hostname='pg2'") == [("1",)]


def test_a_value_that_runtime_refuses_restores_everything(
    proxysql: ProxySQL, project: Project
) -> None:
    applied()
    before = rows(proxysql, "* FROM runtime_pgsql_servers ORDER BY 1, 2")
    project.write(
        TABLES.replace(
            "  pgsql-max", "  pgsql-eventslog_filename: /no/such/folder/log\n  pgsql-max"
        ).replace("max_connections: 50", "max_connections: 60")
    )
    failed = apply()
    ended(failed, 4, "everything was restored", "'/no/such/folder/log', but is ''")
    for layer in ("runtime_", "", "disk."):
        found = rows(proxysql, f"* FROM {layer}pgsql_servers ORDER BY 1, 2")
        assert [row[:4] for row in found] == [row[:4] for row in before]
    project.write(TABLES)
    assert plan().code == 0


# -- hostgroups in use ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (
            "{hostgroup_id: 10, hostname: pg1, max_connections: 50}",
            "the default hostgroup of users",
        ),
        ("{hostgroup_id: 20, hostname: pg2, comment: reads}", "a destination of rules"),
    ],
)
def test_a_hostgroup_in_use_keeps_a_server(
    proxysql: ProxySQL, project: Project, gone: str, words: str
) -> None:
    applied()
    left = TABLES.replace(f"  - {gone}\n", "").replace(
        "  - {hostgroup_id: 20, hostname: pg3}\n", ""
    )
    left = left.replace(
        "pgsql_servers:\n", "pgsql_servers:\n  - {hostgroup_id: 5, hostname: pg9}\n"
    )
    project.write(left)
    number = gone[15:17]
    ended(apply(), 3, f"pgsql hostgroup {number} would have no ONLINE server, but is {words}")
    applied("--force")
    assert plan().code == 0


def test_a_rule_goes_to_no_hostgroup_without_servers(proxysql: ProxySQL, project: Project) -> None:
    applied()
    rule = "database: shop, destination_hostgroup: 20, apply"
    project.write(TABLES.replace(rule, rule.replace("20", "30")))
    ended(apply(), 3, "pgsql hostgroup 30 would be the destination of 1 rule (1)")


def test_servers_leave_after_the_rules_that_use_them(proxysql: ProxySQL, project: Project) -> None:
    applied()
    moved = TABLES.replace("hostgroup_id: 20", "hostgroup_id: 30").replace(
        "destination_hostgroup: 20", "destination_hostgroup: 30"
    )
    project.write(moved)
    done = applied()
    loads = [line.split(" TO ")[0] for line in done.err.splitlines() if line.startswith("LOAD")]
    assert loads.count("LOAD PGSQL SERVERS") == 2
    last = len(loads) - 1 - loads[::-1].index("LOAD PGSQL SERVERS")
    assert loads.index("LOAD PGSQL SERVERS") < loads.index("LOAD PGSQL QUERY RULES") < last
    assert plan().code == 0


# -- families -------------------------------------------------------------------------------------

FAMILY = """\
version: 1
pgsql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {0}, weight: {2}}}
  - {{hostgroup_id: 20, hostname: 127.0.0.1, port: {1}}}
pgsql_replication_hostgroups: [{{writer_hostgroup: 10, reader_hostgroup: 20}}]
"""


@pytest.fixture
def pair() -> Iterator[Pair]:
    with Pair() as servers:
        yield servers


@pytest.fixture
def family(tmp_path: Path, offline: Project, pair: Pair) -> Iterator[ProxySQL]:
    with start(tmp_path / "proxysql", monitor=True) as server:
        offline.connect(server.instance)
        offline.write(files(pair))
        applied()
        yield server


def files(pair: Pair, weight: int = 1) -> str:
    """Return the files, which always name the first primary as the writer."""
    first, second = sorted((pair.primary, pair.standby), key=lambda server: server is pair.standby)
    return FAMILY.format(first.port, second.port, weight)


def places(server: ProxySQL) -> list[tuple[int, int, int]]:
    """Return hostgroup, port and weight of each server at RUNTIME that is ONLINE."""
    what = "hostgroup_id, port, weight FROM runtime_pgsql_servers WHERE status='ONLINE'"
    return sorted((int(h or 0), int(p or 0), int(w or 0)) for h, p, w in rows(server, what))


def writers(server: ProxySQL) -> list[int]:
    return [port for hostgroup, port, _ in places(server) if hostgroup == 10]


@needs_postgresql
def test_a_failover_is_no_difference_and_an_apply_keeps_it(
    family: ProxySQL, offline: Project, pair: Pair
) -> None:
    assert plan().code == 0
    before = files(pair)
    heavier = files(pair, weight=5)
    pair.fail_over()
    # The monitor has the primary among the readers, too.
    until(lambda: writers(family) == [pair.primary.port] and len(places(family)) == 3)
    for outcome in (plan(), proxyctl("drift")):
        assert outcome.code == 0, outcome.text
    exported = proxyctl("export")
    offline.write(exported.out)
    assert plan().code == 0, exported.text
    assert f"port: {pair.standby.port}" in exported.out
    # The monitor looks away, so that nothing mends what a LOAD does.
    family.instance.execute("SET pgsql-monitor_read_only_interval=60000")
    family.instance.load("PGSQL VARIABLES", saves=True)
    offline.write(heavier)
    applied()
    assert writers(family) == [pair.primary.port]
    assert (20, pair.standby.port, 5) in places(family)
    assert plan().code == 0
    rolled_back()
    assert writers(family) == [pair.primary.port]
    assert (20, pair.standby.port, 1) in places(family)
    offline.write(before)
    assert plan().code == 0


@needs_postgresql
def test_a_primary_that_a_failover_removed_enters_as_a_reader(
    family: ProxySQL, offline: Project, pair: Pair
) -> None:
    pair.fail_over()
    primary, old = pair.primary.port, pair.standby.port
    family.instance.execute(f"DELETE FROM pgsql_servers WHERE port={old}")
    family.instance.load("PGSQL SERVERS", saves=True)
    until(lambda: places(family) == [(10, primary, 1), (20, primary, 1)])
    # The monitor looks away, so that nothing mends what a LOAD does.
    family.instance.execute("SET pgsql-monitor_read_only_interval=60000")
    family.instance.load("PGSQL VARIABLES", saves=True)
    shown = applied()
    assert "enters through 20 (reader); the monitor places it" in shown.text
    assert f"pgsql hostgroup 10 has a writer at RUNTIME (127.0.0.1:{primary})" in shown.text
    assert sorted(places(family)) == sorted([(10, primary, 1), (20, primary, 1), (20, old, 1)])
    assert plan().code == 0

    pair.standby.stop()
    pair.standby.start(is_standby=False)
    family.instance.execute("SET pgsql-monitor_read_only_interval=200")
    family.instance.load("PGSQL VARIABLES", saves=True)
    until(lambda: sorted(writers(family)) == sorted([primary, old]))


@needs_postgresql
def test_the_monitor_is_off_so_every_row_counts(
    family: ProxySQL, offline: Project, pair: Pair
) -> None:
    pair.fail_over()
    until(lambda: writers(family) == [pair.primary.port])
    for sql in ("SET pgsql-monitor_enabled='false'", "LOAD PGSQL VARIABLES TO RUNTIME"):
        family.instance.execute(sql)
    found = plan()
    assert (found.code, str(pair.primary.port) in found.out) == (2, True), found.text


@needs_postgresql
def test_an_apply_undoes_a_shunned_that_the_monitor_leaves(
    family: ProxySQL, offline: Project, pair: Pair
) -> None:
    family.instance.execute("UPDATE pgsql_servers SET status='SHUNNED' WHERE hostgroup_id=10")
    family.instance.load("PGSQL SERVERS", saves=True)
    time.sleep(1)  # five checks of the monitor
    assert writers(family) == []
    shunned = "SHUNNED, which ProxySQL never undoes"
    assert (
        f"left alone   pgsql 127.0.0.1:{pair.primary.port} in hostgroup 10 {shunned}" in plan().out
    )
    offline.write(files(pair).replace("weight: 1", "weight: 1, status: ONLINE"))
    assert "SHUNNED -> ONLINE" in plan().out
    applied()
    assert writers(family) == [pair.primary.port]
    assert plan().code == 0
