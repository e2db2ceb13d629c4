"""A server leaves while a client holds a transaction on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.real.leaving_rig import SETUP, Rig, begun, draining
from tests.support.cli import Project, proxyctl
from tests.support.mariadb_server import MISSING, MariaDB
from tests.support.servers import NO_BINARY, ProxySQL, proxysql_binary

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]


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


def test_a_transaction_on_a_server_that_leaves_is_lost_and_the_plan_said_so(rig: Rig) -> None:
    rig.without_the_first()
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    drain = f"drain it first: proxyctl nodes drain 127.0.0.1:{rig.port}\n"
    assert f"1 connection in use will be cut; {drain}" in found.out
    with pytest.raises(pymysql.MySQLError):
        rig.insert()


def test_a_transaction_ends_before_a_server_leaves_that_is_drained_first(rig: Rig) -> None:
    with draining(rig, f"127.0.0.1:{rig.port}") as (process, _):
        rig.insert()
        rig.client.commit()
        process.communicate(timeout=60)
    assert process.returncode == 0
    rig.without_the_first()
    found = proxyctl("apply", "--auto-approve")
    assert found.code == 0, found.text
    assert "in use will be cut" not in found.out
    assert rig.statuses() == {"10 127.1": "ONLINE"}
    assert rig.count() == ((2,),)
    assert proxyctl("plan", "--detailed-exitcode").code == 0
