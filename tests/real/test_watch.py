"""apply --watch on a real ProxySQL under sysbench: harm is taken back, harmless changes stay."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass

import pymysql
import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.documentation.pages import blocks
from tests.support.paths import ROOT
from tests.support.protocol.faulty_proxy import FaultyProxy
from tests.support.servers.instances import ProxySQL
from tests.support.servers.mariadb import (
    MISSING,
    PASSWORD,
    USER,
    MariaDB,
    running_sysbench,
    sysbench_rig,
)

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

FILES = """\
version: 1
mysql_servers:
  - {{hostgroup_id: 10, hostname: 127.0.0.1, port: {port}{weight}}}
  - {{hostgroup_id: 20, hostname: 127.0.0.1, port: {port}}}
  - {{hostgroup_id: 20, hostname: 127.0.0.2, port: {port}, status: OFFLINE_SOFT}}
{servers}mysql_query_rules:
{rules}  - {{rule_id: 100, match_digest: ' FOR UPDATE', destination_hostgroup: 10, apply: true}}
  - {{rule_id: 200, match_digest: '^SELECT', destination_hostgroup: 20, apply: true}}
"""
READS = (
    "  - {{rule_id: 50, match_digest: '^SELECT c FROM sbtest1 WHERE id=',"
    " destination_hostgroup: {hostgroup}, apply: true}}\n"
)
CLOSED = "  - {{hostgroup_id: 99, hostname: 127.0.0.1, port: 1}}\n"
LOAD = ("--threads=8", "--rate=40")


PAGE = ROOT / "docs" / "how-to" / "apply-and-watch.md"


def skeleton(text: str) -> list[str]:
    """Return the lines without their numbers. What is seen first differs between runs."""
    lines = [re.sub(r"[0-9](?:[\w.:]|,(?=[0-9]))*", "#", line) for line in text.splitlines()]
    return [line for line in lines if not line.startswith(("seen: ", "rolling back to "))]


HARM_ON_THE_PAGE = skeleton(
    next(block.text for block in blocks(PAGE) if block.text.startswith("rolling back to "))
)


@dataclass
class Shop:
    """A ProxySQL with traffic, and the project that changes it."""

    project: Project
    server: ProxySQL
    mariadb: MariaDB

    def write(self, *, rules: str = "", servers: str = "", weight: str = "") -> None:
        port = self.mariadb.port
        files = FILES.format(
            port=port, rules=rules, servers=servers.format(port=port), weight=weight
        )
        self.project.write(files)

    def apply(self, *options: str) -> Outcome:
        return proxyctl("apply", "--auto-approve", *options)

    def has_rule(self) -> bool:
        rules = "SELECT 1 FROM runtime_mysql_query_rules WHERE rule_id=50"
        with closing(self.server.instance.connect()) as own, own.cursor() as cursor:
            return bool(cursor.execute(rules))


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ProxySQL, MariaDB]]:
    with sysbench_rig(tmp_path_factory.mktemp("watch")) as started:
        yield started


@pytest.fixture
def shop(offline: Project, rig: tuple[ProxySQL, MariaDB]) -> Iterator[Shop]:
    server, mariadb = rig
    offline.connect(server.instance)
    found = Shop(offline, server, mariadb)
    found.write()
    assert found.apply("--force").code == 0
    with running_sysbench(server.traffic_port, *LOAD):
        time.sleep(2)
        yield found


class RuleTimer:
    """Measures how long the rule to the broken hostgroup was at RUNTIME. Units: seconds."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self._is_over = threading.Event()
        self.seen: list[float] = []
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> RuleTimer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(0.2):
            if self._shop.has_rule():
                self.seen.append(time.monotonic())

    @property
    def seconds(self) -> float:
        return self.seen[-1] - self.seen[0]


@pytest.mark.parametrize("servers", ["", CLOSED], ids=["empty", "closed port"])
def test_a_rule_into_a_broken_hostgroup_is_taken_back(shop: Shop, servers: str) -> None:
    shop.write(rules=READS.format(hostgroup=99), servers=servers)
    with RuleTimer(shop) as rule:
        done = shop.apply("--watch", "20s", "--force")
    assert done.code == 4, done.text
    seen = [line for line in done.err.splitlines() if line.startswith("seen: ")]
    assert seen
    assert all("hostgroup 99" in line for line in seen), done.text
    assert ", and was rolled back\n" in done.err
    # mysql-connect_timeout_server_max is 10 s: no session has failed yet, or few have.
    assert rule.seconds < 15
    assert not shop.has_rule()
    shop.write()
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    assert "before rollback to " in proxyctl("history").out
    if servers:
        said = skeleton(done.err)
        assert [line for line in HARM_ON_THE_PAGE if line not in said] == []


HARMFUL = {
    "delay: 200": "queries take ",
    "match_pattern: sbtest1, replace_pattern: no_such_table": "error 1146 at 127.0.0.1:",
    "error_msg: closed": "error 1148 at hostgroup ",
}
"""What a rule for some reads has besides, and what is seen first."""


@pytest.mark.parametrize("columns", HARMFUL)
def test_slow_queries_and_errors_are_taken_back(shop: Shop, columns: str) -> None:
    if columns.startswith("error_msg") and shop.server.instance.version < (3, 0, 0):
        pytest.skip("2.7 does not count what a rule with error_msg refuses")
    shop.write(rules=READS.format(hostgroup=f"20, {columns}"))
    done = shop.apply("--watch", "40s")
    assert done.code == 4, done.text
    assert f"\nseen: {HARMFUL[columns]}" in done.err
    assert not shop.has_rule()


HARMLESS = {
    "a comment": {"rules": "  - {rule_id: 50, comment: x, match_digest: '^NEVER'}\n"},
    "a weight": {"weight": ", weight: 7"},
    "a limit": {"weight": ", max_connections: 500"},
    "reads of a table elsewhere": {"rules": READS.format(hostgroup=10)},
    "a server without queries": {
        "servers": "  - {{hostgroup_id: 77, hostname: 127.0.0.1, port: {port}}}\n"
    },
}


class Noise:
    """What happens on a real instance: errors, refused logins, deadlocks, new connections."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._is_over = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(make,))
            for make in (self._errors, self._logins, self._bursts)
        ]

    def __enter__(self) -> Noise:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _run(self, make: object) -> None:
        while not self._is_over.is_set():
            with suppress(pymysql.err.MySQLError, OSError):
                make()  # type: ignore[operator]

    def _connect(self, password: str = PASSWORD) -> pymysql.Connection:
        return pymysql.connect(
            host="127.0.0.1", port=self._port, user=USER, password=password, database="sbtest"
        )

    def _errors(self) -> None:
        """Two errors a second of the application's own."""
        self._is_over.wait(0.5)
        with closing(self._connect()) as own, own.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_table")

    def _logins(self) -> None:
        self._is_over.wait(3)
        self._connect("wrong")

    def _bursts(self) -> None:
        """Every few seconds, forty queries and errors at once, and a long query."""
        self._is_over.wait(7)
        with closing(self._connect()) as own, own.cursor() as cursor:
            for number in range(40):
                with suppress(pymysql.err.MySQLError):
                    cursor.execute(f"INSERT INTO sbtest1 (id) VALUES ({number % 3 + 1})")
            cursor.execute("SELECT sleep(1.5)")


@contextmanager
def busy_processor() -> Iterator[None]:
    """Burn processor time in a process of its own."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as burner:
        try:
            yield
        finally:
            burner.kill()


@pytest.mark.sweep
@pytest.mark.parametrize("round", [1, 2])
@pytest.mark.parametrize("change", HARMLESS)
def test_harmless_changes_under_noise_stay(shop: Shop, change: str, round: int) -> None:
    with Noise(shop.server.traffic_port), busy_processor():
        shop.write(**HARMLESS[change])
        done = shop.apply("--watch", "15s")
    assert done.code == 0, done.text
    assert "within the bounds. queries/s " in done.out


def test_a_harmless_change_stays(shop: Shop) -> None:
    with Noise(shop.server.traffic_port):
        shop.write(**HARMLESS["a weight"])
        done = shop.apply("--watch", "8s", "--format", "json")
    assert done.code == 0, done.text
    watch = done.json["watch"]
    assert watch["verdict"] == "within the bounds"
    assert watch["before"]["queries_per_s"] > 10
    assert watch["after"]["queries_per_s"] > 10
    assert watch["after"]["errors_per_s"] > 0
    within = next(block.text for block in blocks(PAGE) if block.text.startswith("Watched "))
    shop.write()
    assert skeleton(shop.apply("--watch", "8s").out)[-1:] == skeleton(within)


def test_a_lost_connection_decides_nothing(shop: Shop) -> None:
    with FaultyProxy("127.0.0.1", shop.server.port) as proxy:
        shop.project.monkeypatch.setenv("PROXYCTL_PORT", str(proxy.port))
        seen = 0

        def watch(_connection: int, sql: str, _answer: bytes) -> None:
            nonlocal seen
            seen += "SHOW PROMETHEUS METRICS" in sql and shop.has_rule()
            if seen == 2:
                raise ConnectionError

        proxy.watch = watch
        shop.write(rules=READS.format(hostgroup=10))
        done = shop.apply("--watch", "8s")
    assert done.code == 4, done.text
    assert "no verdict, so the change stays in place" in done.err
    assert shop.has_rule()


def test_an_interrupt_keeps_the_change(shop: Shop) -> None:
    shop.write(rules=READS.format(hostgroup=10))
    process = subprocess.Popen(
        [sys.executable, "-m", "proxyctl", "apply", "--auto-approve", "--watch", "15s"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=shop.project.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    assert any(line.startswith("The previous state") for line in process.stdout)
    time.sleep(3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130, said
    assert "interrupted while watching: no verdict, so the change stays in place" in said
    assert "fix: roll it back: proxyctl rollback 2" in said
    assert shop.has_rule()
    command = said.partition("roll it back: proxyctl ")[2].split()
    assert proxyctl(*command, "--auto-approve").code == 0
    assert not shop.has_rule()
