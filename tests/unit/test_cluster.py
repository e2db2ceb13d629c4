"""A member of a native cluster: the modules that it must not load, and peers out of sync."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.instance.cluster import Checksum, Member, Membership, checksum_names
from proxyctl.plan.guards.members import dangers

USERS = "mysql_users"
SWITCH = "admin-cluster_mysql_users_diffs_before_sync"
OURS = Checksum(4, 1000, "0xNEW")
OLD = Checksum(3, 900, "0xOLD")


def peer(seen: Checksum | None, silent_s: float | None = 1.0) -> Member:
    return Member(("px2", 6032), {} if seen is None else {USERS: seen}, silent_s)


def at(own: Checksum, *peers: Member, now: float = 1001.5) -> Membership:
    itself = Member(("px1", 6032), {USERS: own}, 0.5)
    return Membership((itself, *peers), {USERS: own}, {SWITCH: "3"}, now)


def of_other(checksum: Checksum, **changes: int) -> Checksum:
    return checksum._replace(checksum="0xOLD", **changes)


@pytest.mark.parametrize(
    ("seen", "silent_s", "why"),
    [
        (OURS, 1.0, None),
        (OURS._replace(version=9, epoch=5), 1.0, None),
        (OLD, 1.0, f"it answers, but has not copied the change; check {SWITCH} there"),
        (OLD, 60.0, "it has not answered for 60 s"),
        (None, None, "it has never answered this member"),
        (Checksum(0, 0, ""), None, "it has never answered this member"),
        (of_other(OURS, epoch=1001), 1.0, "it loaded different content later"),
        (of_other(OURS), 1.0, "it loaded different content in the same second"),
    ],
)
def test_why_a_member_does_not_follow(
    seen: Checksum | None, silent_s: float | None, why: str | None
) -> None:
    found = [*at(OURS, peer(seen, silent_s)).not_following(USERS, 22)]
    if why is None:
        assert found == []
    else:
        [(member, reason, fix)] = found
        assert member.name == "px2:6032"
        assert f"{reason}; {fix}".startswith(why)


@pytest.mark.parametrize(
    ("own", "seen", "is_refused"),
    [
        (OURS, OLD, False),
        (OLD, OURS, True),
        (Checksum(1, 1000, "0xOLD"), Checksum(2, 900, "0xNEW"), True),
        # One that has only started is nobody's source.
        (OLD, Checksum(1, 1000, "0xNEW"), False),
        (OLD, OLD._replace(epoch=1000), False),
    ],
)
def test_a_member_that_is_behind_is_not_made_the_newest(
    own: Checksum, seen: Checksum, is_refused: bool
) -> None:
    found = [danger.guard for danger in dangers(["MYSQL USERS"], at(own, peer(seen)))]
    assert found == ["stale_member"] * is_refused


def test_where_nothing_is_taken_over_nothing_is_stale() -> None:
    off = replace(at(OLD, peer(OURS)), variables={SWITCH: "0"})
    assert [*dangers(["MYSQL USERS"], off)] == []
    assert [*dangers(["SCHEDULER"], at(OLD, peer(OURS)))] == []
    assert [*dangers(["MYSQL USERS"], Membership())] == []


def test_a_clock_far_ahead_is_refused_whatever_is_allowed() -> None:
    (found,) = dangers(["MYSQL USERS"], at(OURS._replace(epoch=1100)))
    assert not found.can_force
    assert "is 98 s ahead, so a LOAD here" in found.message


def test_the_configured_servers_count_where_a_version_tells_them_from_placed_ones() -> None:
    assert (
        checksum_names(["mysql_servers", "mysql_servers_v2"])["MYSQL SERVERS"] == "mysql_servers_v2"
    )
    assert checksum_names(["mysql_servers"])["MYSQL SERVERS"] == "mysql_servers"
