"""A server that somebody set OFFLINE_HARD, and that comes back to a layer."""

from __future__ import annotations

import pytest

from tests.journeys.layers import in_layers
from tests.journeys.story import applied, plan
from tests.journeys.test_unmanaged_status import DB3, LOAD, SAVE, STATUS, in_sync, set_status
from tests.support.cli import Project, proxyctl
from tests.support.servers import Instance

__all__ = ["in_sync"]


def test_a_server_that_comes_back_comes_with_the_status_of_memory(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD, SAVE)
    set_status(instance, "OFFLINE_SOFT")
    found = plan()
    assert "+ server 20 (reader) db3:3306" in found.out
    assert "RUNTIME only\n        weight 100\n        arrives OFFLINE_SOFT, as MEMORY has it" in (
        found.out
    )
    assert "arrives OFFLINE_SOFT" in plan("--format", "markdown").out
    (change,) = plan("--format", "json").json["instances"][0]["modules"][1]["changes"]
    assert change["remark"] == "arrives OFFLINE_SOFT, as MEMORY has it"
    assert f"pending      {DB3} OFFLINE_SOFT in MEMORY, not loaded" in proxyctl("drift").out
    assert f"{DB3} OFFLINE_SOFT" not in found.out
    saved = plan("--out", "approved.plan")
    assert saved.code == 2
    applied()
    assert in_layers(instance, STATUS)["RUNTIME"] == [("OFFLINE_SOFT",)]


@pytest.mark.parametrize("status", ["OFFLINE_SOFT", "OFFLINE_HARD", "SHUNNED"])
@pytest.mark.parametrize("loaded", [[], [LOAD]], ids=["not loaded", "loaded"])
def test_a_server_that_disk_lacks_is_saved_with_the_status_of_memory(
    in_sync: Project, instance: Instance, status: str, loaded: list[str]
) -> None:
    set_status(instance, status, *loaded)
    instance.run("DELETE FROM disk.mysql_servers WHERE hostname='db3'")
    found = plan()
    assert f"arrives on DISK {status}, as MEMORY has it" in found.out
    assert "left alone" not in found.out
    assert f"pending      {DB3} {status}" in proxyctl("drift").out
    found = applied("--no-save")
    assert f"left alone   {DB3} {status}" in found.out
    assert "arrives" not in found.out
    applied()
    assert in_layers(instance, STATUS)["DISK"] == [(status,)]


def test_a_plan_is_another_where_the_server_comes_with_another_status(
    in_sync: Project, instance: Instance
) -> None:
    set_status(instance, "OFFLINE_HARD", LOAD)
    set_status(instance, "OFFLINE_SOFT", SAVE)
    assert plan("--out", "approved").code == 2
    set_status(instance, "ONLINE", SAVE)
    found = proxyctl("apply", "approved", "--auto-approve")
    assert found.code == 3, found.text
    assert in_layers(instance, STATUS)["RUNTIME"] == []
