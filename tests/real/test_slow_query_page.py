"""The page "Find and fix a slow query", with a real shop: MariaDB, ProxySQL and sysbench.

`--update-golden` writes the output into the page. Numbers depend on the machine and the moment;
everything else is compared.
"""

from __future__ import annotations

import re
import select
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.commands.cli import Outcome, Project, proxyctl
from tests.support.documentation.pages import Block, blocks
from tests.support.paths import ROOT
from tests.support.servers.instances import ProxySQL, needed_binary
from tests.support.servers.mariadb import MISSING, MariaDB

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

PAGE = ROOT / "docs" / "how-to" / "slow-query.md"
TRAFFIC = Path(__file__).with_name("shop_traffic.lua")
PASSWORD = "shop-example"
SETUP = f"""
SET GLOBAL innodb_flush_log_at_trx_commit = 2;
CREATE DATABASE shop;
CREATE USER shop@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON shop.* TO shop@'127.0.0.1';
CREATE TABLE shop.account (id INT PRIMARY KEY, email VARCHAR(60), KEY (email))
 DEFAULT CHARSET utf8mb4 COLLATE utf8mb4_general_ci;
INSERT INTO shop.account SELECT seq, CONCAT('user', seq, '@example.org') FROM shop.seq_1_to_20000;
CREATE TABLE shop.orders (id INT PRIMARY KEY AUTO_INCREMENT, account INT, total DECIMAL(8,2),
 KEY (account));
INSERT INTO shop.orders (account, total) SELECT seq % 20000 + 1, 9.90 FROM shop.seq_1_to_50000;
"""
RAREST = "INSERT INTO orders (account,total) VALUES (?,?)"
ENOUGH, ENOUGH_FOR_THE_PAGE = 60, 600
"""Calls of the rarest query on each side: so many that averages are compared."""

_NUMBER = re.compile(
    r"[+-]?\b\d[\d,.]*(?: ?(?:%|µs|ms|s|min|h|d)\b| ?%)?(?:/(?:s|min|h))?(?<![,.])", re.ASCII
)
_VERDICT = re.compile(r"^(new|vanished|same|slower|faster|too few)\b.*", re.MULTILINE)
"""The figures of a digest: which of them there are depends on how it went."""


def skeleton(text: str) -> list[str]:
    """Return the lines without parts that differ between runs, such as the order of digests."""
    text = re.sub(r"0x[0-9A-F]{16}", "<digest>", text)
    text = re.sub(r"ProxySQL [23]\.\S+", "<ProxySQL>", text)
    text = re.sub(r"(, )?\d+ (new|vanished|same|slower|faster|too few)\b", "<verdicts>", text)
    text = re.sub(r"(<verdicts>)+", "<verdicts>", text)
    text = _VERDICT.sub("<verdict>", text)
    return sorted(re.sub(r"\s+", " ", _NUMBER.sub("#", line)) for line in text.splitlines())


@contextmanager
def traffic(port: int) -> Iterator[None]:
    command = [
        *("sysbench", str(TRAFFIC), "--db-driver=mysql", "--mysql-host=127.0.0.1"),
        *(f"--mysql-port={port}", "--mysql-user=shop", f"--mysql-password={PASSWORD}"),
        *("--mysql-db=shop", "--threads=2", "--rate=60", "--time=0", "run"),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


class Reader:
    """Runs the blocks of the page in order."""

    def __init__(self, project: Project, proxysql: ProxySQL, mariadb: MariaDB) -> None:
        self._project = project
        self._proxysql = proxysql
        self._mariadb = mariadb
        self._last: Outcome | None = None
        self.traffic_port = proxysql.traffic_port
        self.outputs: list[tuple[Block, str]] = []
        """The text blocks, each with its output."""

    def read(self, block: Block) -> None:
        if name := block.options.get("file"):
            served = f"hostname: 127.0.0.1, port: {self._mariadb.port}"
            self._project.write(block.text.replace("hostname: db1", served), name)
        for command in block.commands():
            for line in command.text.replace("\\\n", " ").splitlines():
                self._run(shlex.split(line))
        if block.language == "text":
            assert self._last is not None
            port = str(self._proxysql.instance.port)
            self.outputs.append((block, self._last.out.replace(port, "6032")))

    def _run(self, words: list[str]) -> None:
        if words[0] != "proxyctl":
            return
        arguments = words[1:]
        if arguments == ["apply"]:
            self.apply()
        else:
            self._last = proxyctl(*arguments)
            assert self._last.code == 0, self._last.text

    def apply(self) -> None:
        self._last = proxyctl("apply", "--auto-approve")
        assert self._last.code == 0, self._last.text

    def wait_for_queries(self, enough: int) -> None:
        """Wait until the shop has sent enough queries."""
        count = f"SELECT sum(count_star) FROM stats_mysql_query_digest WHERE digest_text='{RAREST}'"
        [(before,)] = self._proxysql.instance.query(count)
        for _ in range(3_000):
            [(now,)] = self._proxysql.instance.query(count)
            if int(now or 0) >= int(before or 0) + enough:
                return
            select.select([], [], [], 0.1)
        raise AssertionError("the shop sends nothing")


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    (tmp_path / "files").mkdir()
    with (
        MariaDB(tmp_path, setup=SETUP) as mariadb,
        ProxySQL(needed_binary(), tmp_path / "proxysql") as proxysql,
    ):
        project = Project(tmp_path / "files", monkeypatch)
        project.connect(proxysql.instance)
        monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
        found = Reader(project, proxysql, mariadb)
        yield found


@pytest.mark.since("2.7.0", "the page shows what 2.7 prints")
def test_the_page_says_what_the_commands_say(
    reader: Reader, request: pytest.FixtureRequest
) -> None:
    is_recording = request.config.getoption("--update-golden", default=False)
    enough = ENOUGH_FOR_THE_PAGE if is_recording else ENOUGH
    first, *rest = blocks(PAGE)
    reader.read(first)
    reader.apply()
    with traffic(reader.traffic_port):
        reader.wait_for_queries(enough)
        for block in rest:
            reader.read(block)
            if "proxyctl apply" in block.text:
                reader.wait_for_queries(enough)
    if is_recording:
        write(reader.outputs)
    assert len(reader.outputs) >= 3
    for block, output in reader.outputs:
        shown = {line for line in skeleton(block.text) if line != "..."}
        true = set(skeleton(output))
        assert shown <= true, "\n".join([*sorted(shown - true), "is not in the output:", output])
        if "..." not in block.lines:
            assert true <= shown, "\n".join(
                [*sorted(true - shown), "is left out of the page:", output]
            )


def write(outputs: list[tuple[Block, str]]) -> None:
    """Write the outputs into the page, except for blocks that are cut with `...`."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    for block, text in reversed(outputs):
        if "..." not in block.lines:
            new = [line.rstrip() for line in text.rstrip("\n").split("\n")]
            lines[block.line : block.line + len(block.lines)] = new
            block.lines[:] = new
    PAGE.write_text("\n".join(lines), encoding="utf-8")
