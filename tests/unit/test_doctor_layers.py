"""What the doctor finds in layers that are out of step, and in members of a cluster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.doctor.examination import examine
from proxyctl.doctor.facts import (
    Checksum,
    PeerChecksum,
)
from proxyctl.survey import TableSurvey
from tests.support.build import rows, survey
from tests.unit.doctor_facts import (
    HEALTHY,
    NOW,
    PX1,
    PX2,
    clustered,
    found,
    only,
    with_survey,
)

ONE = {"hostgroup_id": 10, "hostname": "db1"}


def way_out(one: TableSurvey) -> str:
    return examine(with_survey(one)).findings[0].way_out


def test_layers_that_are_out_of_step() -> None:
    old, new = rows("mysql_servers", ONE), rows("mysql_servers", {**ONE, "weight": 7})
    edited = survey(None, new, runtime=old, disk=old, table="mysql_servers")
    assert only(with_survey(edited)) == (
        "not-loaded",
        "MYSQL SERVERS",
        "MEMORY is not what runs: mysql_servers 10:db1:3306; the next LOAD makes it live",
    )
    assert way_out(edited).endswith("; if not, LOAD MYSQL SERVERS FROM DISK")
    # What runs was never saved: DISK must not be taken for it.
    unsaved = survey(None, new, runtime=old, disk={}, table="mysql_servers")
    assert "FROM DISK" not in way_out(unsaved)
    saved = survey(None, new, runtime=old, disk=new, table="mysql_servers")
    assert "the next LOAD, or a restart, makes it live" in only(with_survey(saved))[2]
    loaded = survey(None, new, runtime=new, disk=old, table="mysql_servers")
    assert only(with_survey(loaded)) == (
        "not-saved",
        "MYSQL SERVERS",
        "what runs is not on DISK: mysql_servers 10:db1:3306; a restart brings the old state back",
    )


def test_a_variable_that_waits_for_a_restart() -> None:
    now = {("mysql-threads",): ("mysql-threads", "4")}
    later = {("mysql-threads",): ("mysql-threads", "8")}
    pending = survey(None, now, disk=later, table="mysql_variables")
    facts = with_survey(pending)
    assert found(replace(facts, variables={**facts.variables, "mysql-threads": "4"})) == [
        ("restart-pending", "mysql-threads", "it is 4 now, and 8 after a restart")
    ]


def test_nothing_on_disk_is_no_other_value() -> None:
    """A new ProxySQL 3.0 keeps an empty text there, and begins with its default every time."""
    now = {("pgsql-interfaces",): ("pgsql-interfaces", "0.0.0.0:6133")}
    later = {("pgsql-interfaces",): ("pgsql-interfaces", "")}
    facts = with_survey(survey(None, now, disk=later, table="pgsql_variables"))
    assert found(replace(facts, variables={**facts.variables, **dict(now.values())})) == []


def test_an_apply_that_died() -> None:
    assert only(replace(HEALTHY, dead_apply="apply by pid 7 on ci"))[0] == "dead-apply"


@pytest.mark.parametrize(
    ("own", "seen", "code"),
    [
        (Checksum(2, NOW - 900, "0xA"), Checksum(3, NOW - 900, "0xB"), "peers-split"),
        (Checksum(3, NOW - 90, "0xA"), Checksum(1, NOW - 9, "0xB"), "peer-catching-up"),
        (Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB"), "peer-behind"),
        (Checksum(3, NOW - 900, "0xA"), Checksum(2, NOW - 90, "0xB"), "peer-behind"),
        (Checksum(3, NOW - 2, "0xA"), Checksum(2, NOW - 900, "0xB"), "peer-catching-up"),
        (Checksum(1, NOW - 900, "0xA"), Checksum(1, NOW - 800, "0xB"), "peers-without-source"),
    ],
)
def test_a_peer_that_differs(own: Checksum, seen: Checksum, code: str) -> None:
    assert only(clustered(own, seen))[:2] == (code, "MYSQL USERS, peer px2:6032")


@pytest.mark.parametrize(
    ("ahead_s", "text"),
    [
        (90.4, "its clock is 1 min ahead: a LOAD at this instance may be taken for older"),
        (-7200, "its clock is 2 h behind: a LOAD at the peer may be taken for older"),
    ],
)
def test_clocks_that_are_apart(ahead_s: float, text: str) -> None:
    alike = Checksum(2, NOW - 90, "0xA")
    facts = replace(clustered(alike, alike), peer_clocks={PX1: 0.0, PX2: ahead_s})
    code, where, message = only(facts)
    assert (code, where) == ("peer-clock", "peer px2:6032")
    assert message.startswith(text)
    assert found(replace(facts, peer_clocks={PX2: ahead_s / 10_000})) == []


def test_a_module_that_was_loaded_in_the_future() -> None:
    """Here it was taken over; there it is still on its way."""
    late = Checksum(3, NOW + 600, "0xA")
    text = "loaded last by a clock that is up to 10 min ahead"
    code, where, message = only(clustered(late, late))
    assert (code, where) == ("loaded-in-future", "MYSQL USERS")
    assert message.startswith(text)
    both = found(clustered(Checksum(3, NOW - 90, "0xB"), late))
    assert [one[0] for one in both] == ["loaded-in-future", "peer-catching-up"]
    for harmless in (Checksum(3, NOW + 9, "0xA"), Checksum(1, NOW + 600, "0xA")):
        assert found(clustered(harmless, harmless)) == []


def test_who_has_to_follow_is_said() -> None:
    newer, older = Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB")
    assert "does not take over what was loaded here 1 min ago" in only(clustered(newer, older))[2]
    assert "this instance does not take over" in only(clustered(older, newer))[2]


def test_a_module_that_is_not_synchronised() -> None:
    newer, older = Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB")
    facts = clustered(newer, older, **{"admin__cluster_mysql_users_diffs_before_sync": "0"})
    assert only(facts)[0] == "peers-not-synchronised"


def test_the_monitors_moves_do_not_count() -> None:
    facts = replace(
        clustered(Checksum(2, NOW - 90, "0xA"), Checksum(2, NOW - 90, "0xA")),
        own={"mysql_servers": Checksum(5, NOW, "0xA"), "mysql_servers_v2": Checksum(2, 1, "0xC")},
        peer_checksums=(
            PeerChecksum(PX1, "mysql_servers", Checksum(5, NOW, "0xA"), NOW),
            PeerChecksum(PX2, "mysql_servers", Checksum(9, NOW, "0xB"), NOW),
        ),
    )
    assert found(facts) == []


def test_a_peer_that_never_answered() -> None:
    nothing = Checksum(0, 0, "")
    facts = clustered(Checksum(2, NOW, "0xA"), nothing)
    assert only(facts)[:2] == ("peer-not-seen", "peer px2:6032")
    assert only(clustered(Checksum(2, NOW, "0xA"), nothing, admin__cluster_username=""))[0] == (
        "cluster-no-account"
    )


def test_a_peer_that_is_lost_is_not_compared() -> None:
    facts = clustered(Checksum(3, NOW - 90, "0xA"), Checksum(2, NOW - 900, "0xB"))
    here, there = facts.peer_checksums
    facts = replace(facts, peer_checksums=(here, there._replace(seen_at=NOW - 240)))
    assert found(facts) == [("peer-lost", "peer px2:6032", "has not answered for 4 min")]
