"""doctor --all: what is wrong with many instances, said once where it is the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from proxyctl.sandbox import Sandbox
from tests.journeys.test_fleet import listed
from tests.support.cli import Project, proxyctl
from tests.support.servers import free_port

TO_NOWHERE = (
    "INSERT INTO mysql_query_rules (rule_id,active,match_digest,destination_hostgroup,apply)"
    " VALUES (5,1,'^SELECT',20,1)"
)
LOAD, SAVE = "LOAD MYSQL QUERY RULES TO RUNTIME", "SAVE MYSQL QUERY RULES TO DISK"
HOSTGROUPS = "version: 1\nhostgroups:\n  reader: {id: 20}\n"


@pytest.fixture
def sandboxes(offline: Project) -> Iterator[list[Sandbox]]:
    """Three instances, named in the files."""
    with ExitStack() as stack:
        made = [stack.enter_context(Sandbox()) for _ in range(3)]
        offline.write(HOSTGROUPS + listed([one.port for one in made]))
        yield made


def spoil(sandbox: Sandbox, *statements: str) -> None:
    for sql in statements:
        sandbox.run(sql)


def test_one_line_where_nothing_is_wrong_anywhere(sandboxes: list[Sandbox]) -> None:
    found = proxyctl("doctor", "--all")
    assert (found.code, found.out) == (0, "Fleet of 3 instances: 3 with nothing wrong.\n")


def test_findings_that_several_have_are_said_once(sandboxes: list[Sandbox]) -> None:
    spoil(sandboxes[0], TO_NOWHERE, LOAD, SAVE)
    spoil(sandboxes[2], TO_NOWHERE, LOAD, SAVE)
    found = proxyctl("doctor", "--all")
    assert found.code == 1
    assert found.out.startswith("px1, px3  2 instances alike, ProxySQL 2.7.1-sandbox\n")
    assert found.out.count("error  hostgroup 20 (reader)") == 1
    assert found.out.endswith(
        "\nFleet of 3 instances: 1 with nothing wrong, 2 with errors: px1, px3.\n"
    )


def test_the_gravest_finding_of_each_is_counted(sandboxes: list[Sandbox]) -> None:
    spoil(sandboxes[0], TO_NOWHERE, LOAD, SAVE)
    spoil(sandboxes[1], TO_NOWHERE)
    found = proxyctl("doctor", "--all")
    assert found.code == 1
    assert "1 with errors: px1, 1 with warnings at worst: px2.\n" in found.out
    assert f"px2  127.0.0.1:{sandboxes[1].port}  ProxySQL 2.7.1-sandbox\n" in found.out

    left_out = ("doctor", "--all", "--ignore", "hostgroup-without-servers")
    assert proxyctl(*left_out).code == 0
    assert proxyctl(*left_out, "--strict").code == 1


def test_one_that_cannot_be_reached_does_not_hide_the_others(
    offline: Project, sandboxes: list[Sandbox]
) -> None:
    gone = f"{{name: gone, host: 127.0.0.1, port: {free_port()}}}"
    offline.write(HOSTGROUPS + listed([one.port for one in sandboxes], gone))
    spoil(sandboxes[0], TO_NOWHERE)
    found = proxyctl("doctor", "--all")
    assert found.code == 1
    assert "error: cannot connect to 127.0.0.1" in found.out
    assert found.out.endswith(
        "Fleet of 4 instances: 2 with nothing wrong, 1 with warnings at worst: px1,"
        " 1 not read: gone.\n"
    )


def test_json_has_each_under_its_own_name(sandboxes: list[Sandbox]) -> None:
    spoil(sandboxes[1], TO_NOWHERE, LOAD, SAVE)
    found = proxyctl("doctor", "--all", "--format", "json")
    assert found.code == 1
    document = found.json
    assert (document["format"], document["failed"]) == (1, [])
    assert [(one["name"], one["healthy"]) for one in document["instances"]] == [
        ("px1", True),
        ("px2", False),
        ("px3", True),
    ]
    alone = proxyctl("doctor", "--instance", "px2", "--format", "json").json
    assert {"format": 1, **document["instances"][1]} == alone


def test_an_instance_cannot_be_named_as_well(sandboxes: list[Sandbox]) -> None:
    found = proxyctl("doctor", "--all", "--instance", "px1")
    assert found.code == 64
    assert "--all means every instance" in found.err
