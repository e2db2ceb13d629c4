"""A server leaves while a client holds a transaction on it: `--drain-timeout` waits for that."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.real.leaving_rig import FILES, SETUP, Applying, Rig, begun, until, waiting
from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, MariaDB
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

ELSEWHERE = """\
version: 1
mysql_servers:
  - {{hostgroup_id: 20, hostname: "127.1", port: {port}}}
mysql_users: [{{username: sb, password: sb, default_hostgroup: 20}}]
"""


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    binary = proxysql_binary()
    if binary is None:
        pytest.skip(NO_BINARY)
    (tmp_path / "files").mkdir()
    with (
        MariaDB(tmp_path, setup=SETUP) as mariadb,
        ProxySQL(binary, tmp_path / "proxysql") as proxysql,
    ):
        project = Project(tmp_path / "files", monkeypatch)
        project.connect(proxysql.instance)
        with begun(project, mariadb, proxysql) as found:
            yield found


def test_without_it_the_transaction_is_lost(rig: Rig) -> None:
    rig.without_the_first()
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    assert "1 connection in use will be cut\n" in found.out
    with pytest.raises(pymysql.MySQLError):
        rig.insert()


def test_the_transaction_ends_before_the_server_leaves(rig: Rig) -> None:
    with waiting(rig) as (process, waited):
        assert f"waiting for 1 connection to 127.0.0.1:{rig.port} in hostgroup 10" in waited
        rig.insert()
        rig.client.commit()
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0, out
    assert "in use will be cut unless they end within 60 s" in out
    assert "cut after" not in out
    assert rig.statuses() == {"10 127.1": "ONLINE"}
    assert rig.count() == ((2,),)
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_it_does_not_wait_for_ever(rig: Rig) -> None:
    rig.without_the_first()
    found = proxyctl("apply", "--auto-approve", "--drain-timeout", "0.5")
    assert found.code == 0, found.text
    assert f"cut after 0.5 s of waiting: 1 connection to 127.0.0.1:{rig.port}" in found.out
    assert rig.statuses() == {"10 127.1": "ONLINE"}


def test_an_interrupt_puts_the_server_back_and_the_transaction_goes_on(rig: Rig) -> None:
    with waiting(rig) as (process, _):
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        assert process.returncode == 130
    assert rig.statuses() == {"10 127.0.0.1": "ONLINE", "10 127.1": "ONLINE"}
    rig.insert()
    rig.client.commit()


def test_signals_behind_the_first_do_not_end_the_report(rig: Rig) -> None:
    with waiting(rig) as (process, _):
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
    assert "MYSQL SERVERS: MEMORY as before, RUNTIME as before, DISK as before" in said
    assert rig.statuses() == {"10 127.0.0.1": "ONLINE", "10 127.1": "ONLINE"}
    assert rig.proxysql.instance.query("SELECT count(*) FROM proxyctl_lock") == [("0",)]


def test_a_lock_that_is_removed_during_the_wait_leaves_nothing_claimed(rig: Rig) -> None:
    with waiting(rig) as (process, _):
        assert proxyctl("unlock").code == 0
        _, said = process.communicate(timeout=60)
        assert process.returncode == 4
    assert "the lock was removed, by unlock or by another apply that has ended" in said
    unknown = "MEMORY not known any more, RUNTIME not known any more, DISK not known any more"
    assert f"MYSQL SERVERS: {unknown}" in said
    assert "hint: run plan again: it shows what is there now" in said
    assert rig.statuses() == {"10 127.0.0.1": "OFFLINE_SOFT", "10 127.1": "ONLINE"}
    assert proxyctl("apply", "--auto-approve").code == 0
    assert rig.statuses() == {"10 127.1": "ONLINE"}


def test_a_second_run_finishes_after_the_first_was_killed(rig: Rig) -> None:
    with waiting(rig) as (process, _):
        process.kill()
        process.wait()
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    assert rig.statuses() == {"10 127.1": "ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0


def test_the_files_of_before_bring_the_server_back_after_a_kill(rig: Rig) -> None:
    with waiting(rig) as (process, _):
        process.kill()
        process.wait()
    rig.project.write(FILES.format(port=rig.port))
    planned = proxyctl("plan")
    assert "OFFLINE_SOFT -> ONLINE" in planned.out, planned.text
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    assert set(rig.statuses().values()) == {"ONLINE"}
    assert proxyctl("plan", "--detailed-exitcode").code == 0
    rig.without_the_first()
    assert proxyctl("apply", "--auto-approve").code == 0


def test_traffic_turns_before_the_old_server_takes_nothing_new(rig: Rig) -> None:
    rig.project.write(ELSEWHERE.format(port=rig.port))
    applying = Applying("--drain-timeout", "60")
    applying.start()
    until(lambda: rig.statuses().get("10 127.0.0.1") == "OFFLINE_SOFT")
    users = "SELECT DISTINCT default_hostgroup FROM runtime_mysql_users"
    assert rig.proxysql.instance.query(users) == [("20",)]
    rig.client.commit()
    found = applying.outcome()
    assert found.code == 0, found.text
    assert rig.statuses() == {"20 127.1": "ONLINE"}
    assert "4 LOAD, 2 SAVE; every layer was read back" in found.out
    assert proxyctl("plan", "--detailed-exitcode").code == 0
