"""Stores after a crash or on a full disk, files that are no store, and options, on the sandbox."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

from proxyctl.stats.store.file import APPLICATION_ID
from tests.support.commands.cli import proxyctl
from tests.support.digests.collecting import COLLECT, READ, collected, here
from tests.support.digests.stored import CountingSandbox, stored_sums

CRASH = """
import os, signal, sys, time
from pathlib import Path
from proxyctl.stats.store.file import opened_store, writing
from proxyctl.stats.store.series import SeriesOfInstance, hold_rows
from tests.support.digests.seen import seen_digest

now = int(time.time())
rows = [seen_digest("SELECT 1", digest=f"0x{n:016X}", last_seen=now) for n in range(5000)]
with opened_store(Path(sys.argv[1])) as store:
    held = hold_rows(store, rows)
    with writing(store):
        series = SeriesOfInstance(store, 1)
        series.measure(held, 0)
        series.add_growth(now)
        series.keep_counters(held)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_crash_leaves_the_file_as_it_was(shop: CountingSandbox) -> None:
    collected()
    shop.run(READ, 2)
    collected()
    held = stored_sums(Path("digests.db"))
    crashed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(CRASH), "digests.db"],
        env=here(),
        check=False,
    )
    assert crashed.returncode == -signal.SIGKILL
    assert stored_sums(Path("digests.db")) == held
    shop.run(READ, 3)
    assert "3 queries of 1 entry added" in collected().err


def test_a_full_disk_leaves_the_file_as_it_was(shop: CountingSandbox) -> None:
    collected()
    shop.run(READ, 1)
    collected()
    held = stored_sums(Path("digests.db"))
    for number in range(3000):
        query = f"SELECT c{number} FROM t"
        shop.rows[query] = shop.rows[READ]._replace(
            digest=f"0x{number:016X}", digest_text=query, last_seen=int(time.time())
        )
    shop.run(READ, 1)
    most = Path("digests.db").stat().st_size + 16_384

    def limit_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    full = subprocess.run(
        COLLECT, env=here(), capture_output=True, text=True, check=False, preexec_fn=limit_files
    )
    assert full.returncode == 1
    assert full.stderr.startswith("error: digests.db: ")
    assert "nothing was added" in full.stderr
    assert stored_sums(Path("digests.db")) == held
    assert "3,001 entries added" in collected().err


def sqlite_file(path: Path, *statements: str) -> None:
    store = sqlite3.connect(path)
    for statement in statements:
        store.execute(statement)
    store.commit()
    store.close()


def test_files_that_are_no_store(shop: CountingSandbox) -> None:
    Path("text").write_text("SELECT 1\n" * 1000)
    sqlite_file(Path("other"), "CREATE TABLE t (a)")
    sqlite_file(
        Path("newer"),
        "CREATE TABLE t (a)",
        f"PRAGMA application_id = {APPLICATION_ID}",
        "PRAGMA user_version = 99",
    )
    for number in range(300):
        shop.run(f"SELECT c{number} FROM t", 1)
    collected()
    held = Path("digests.db").read_bytes()
    Path("cut").write_bytes(held[: len(held) // 2])
    Path("empty").touch()
    for name, message in {
        "text": "not a store of digests",
        "other": "not a store of digests",
        "newer": "a store of format 99; this proxyctl",
        "cut": "the store is damaged or truncated",
        ".": "is a directory",
    }.items():
        kept = Path(name).read_bytes() if Path(name).is_file() else b""
        found = proxyctl("digest", "collect", "--store", name)
        assert (found.code, message in found.err) == (1, True), found.text
        assert not kept or Path(name).read_bytes() == kept
    for name, message in {
        "empty": "not a store of digests",
        "missing": "no such file",
        "cut": "the store is damaged or truncated",
        "digests.db": "nothing was counted yet",
    }.items():
        found = proxyctl("digest", "top", "--store", name)
        assert (found.code, message in found.err) == (1, True), found.text


def test_options_that_do_not_go_together(shop: CountingSandbox) -> None:
    for arguments, message in {
        ("--since", "1h"): "--since needs --store",
        ("--store", "x", "--all"): "leave out --all",
        ("--store", "x", "--rule"): "--store cannot be used with --rule",
        ("--store", "x", "--format", "prometheus"): "--store cannot be used with --format",
        ("--store", "x", "--host", "px1"): "leave out --host",
        ("--store", "x", "--since", "soon"): "'soon' is not a time",
        ("--store", "x", "--since", "1h", "--until", "2h"): "--since is not before --until",
    }.items():
        found = proxyctl("digest", "top", *arguments)
        assert (found.code, message in found.err) == (64, True), found.text
