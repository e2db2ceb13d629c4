"""Members of a native cluster: who follows whom, and what is said of one that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxyctl.cluster.checksums import Checksum, configured
from proxyctl.cluster.electing import elected, together
from proxyctl.cluster.following import FINAL, Why, reasons, rows_differ, saves_nothing
from proxyctl.cluster.kept_offline import keeps
from proxyctl.cluster.membership import Member, Membership
from proxyctl.cluster.refusing import dangers
from proxyctl.state import Layer

USERS, RULES = "mysql_users", "mysql_query_rules"
HERE, PEER = ("px1", 6032), ("px2", 6032)
OURS = Checksum(4, 1000, "0xNEW")
OLD = Checksum(3, 900, "0xOLD")
ACCOUNT = {"admin-cluster_username": "c", "admin-cluster_password": "c"}
SWITCH = "admin-cluster_mysql_users_diffs_before_sync"
VARIABLES = {**ACCOUNT, SWITCH: "3"}
ASKED = Member(PEER, {USERS: OLD}, None, "2.7.1", VARIABLES, (HERE, PEER))
SEEN = Member(PEER, {USERS: OLD}, "cannot connect")
AT = Membership((HERE, PEER), {USERS: OURS}, VARIABLES, (ASKED,), "2.7.1", 1001.5, HERE)


def seen(version: int, epoch: int, checksum: str = "0xOLD") -> dict[str, Checksum]:
    return {USERS: Checksum(version, epoch, checksum)}


@pytest.mark.parametrize(
    ("peer", "why"),
    [
        (replace(ASKED, checksums={USERS: OURS}), None),
        (replace(ASKED, checksums=seen(9, 5, "0xNEW")), None),
        (replace(SEEN, checksums={USERS: OURS}), None),
        # What was seen before the LOAD is no answer to it: the peer may be gone since.
        (replace(SEEN, checksums=seen(9, 5, "0xNEW"), seen_at={USERS: 1000}), Why.NOT_REACHED),
        (replace(SEEN, checksums=seen(9, 5, "0xNEW"), seen_at={USERS: 1001}), None),
        (ASKED, Why.OTHER),
        (SEEN, Why.NOT_REACHED),
        (replace(SEEN, checksums=seen(0, 0, "")), Why.NOT_REACHED),
        (replace(SEEN, checksums={}), Why.NOT_REACHED),
        (replace(ASKED, version_text="2.5.5"), Why.OTHER_VERSION),
        (replace(ASKED, variables={**ACCOUNT, SWITCH: "0"}), Why.SWITCHED_OFF),
        (
            replace(ASKED, variables={**VARIABLES, "admin-checksum_mysql_users": "false"}),
            Why.SWITCHED_OFF,
        ),
        (replace(ASKED, variables={**VARIABLES, "admin-cluster_username": ""}), Why.NO_ACCOUNT),
        (replace(ASKED, lists=(PEER,)), Why.NOT_LISTED),
        (replace(ASKED, checksums=seen(2, 1000)), Why.SPLIT),
        (replace(SEEN, checksums=seen(2, 1000)), Why.SPLIT),
        # At version 1 it takes over from anybody, whatever its epoch is.
        (replace(ASKED, checksums=seen(1, 1000)), Why.OTHER),
        (replace(ASKED, checksums=seen(1, 2000)), Why.OTHER),
        (replace(ASKED, checksums=seen(2, 1001)), Why.NEWER),
        (replace(SEEN, checksums=seen(2, 1001)), Why.NEWER),
    ],
)
def test_why_a_peer_does_not_follow(peer: Member, why: Why | None) -> None:
    found = list(reasons({USERS: OURS}, peer, AT))
    assert [(one.module, one.code) for one in found] == ([("MYSQL USERS", why)] if why else [])


def test_nobody_follows_one_at_version_1() -> None:
    (found,) = reasons({USERS: Checksum(1, 1000, "0xNEW")}, ASKED, AT)
    assert found.code == Why.NEVER_LOADED


def test_where_nobody_knows_which_one_is_listed_that_is_no_reason() -> None:
    (found,) = reasons({USERS: OURS}, replace(ASKED, lists=(PEER,)), replace(AT, itself=None))
    assert found.code == Why.OTHER


def test_what_goes_by_is_waited_for() -> None:
    goes_by = {Why.NOT_REACHED, Why.NOT_LISTED, Why.ROWS, Why.KEPT, Why.PLACING, Why.OTHER}
    assert goes_by == {*Why} - FINAL


def test_what_a_peer_holds_and_the_way_out_are_said() -> None:
    (found,) = reasons({USERS: OURS}, replace(ASKED, checksums=seen(2, 1000)), AT)
    assert found.holds == "it holds what was loaded 1970-01-01 00:16:40 UTC"
    assert found.way_out == "apply at px2:6032: what is loaded there becomes the newest"
    (rows,) = rows_differ({"MYSQL USERS": 2}, ASKED)
    assert rows.text == "its checksum agrees, and 2 rows differ at RUNTIME"


def test_a_peer_that_does_not_save() -> None:
    name = "admin-cluster_mysql_users_save_to_disk"
    assert not list(saves_nothing([USERS], replace(ASKED, variables={name: "true"})))
    (said,) = saves_nothing([USERS], replace(ASKED, variables={name: "false"}))
    assert said.startswith(f"MYSQL USERS: {name} is false there")


@pytest.mark.parametrize(
    ("own", "peer", "codes"),
    [
        ((4, 1000, "0xA"), (5, 1001, "0xB"), ["stale_member"]),
        ((4, 1000, "0xA"), (5, 1001, "0xA"), []),
        ((4, 1000, "0xA"), (5, 1000, "0xB"), []),
        ((4, 1000, "0xA"), (5, 999, "0xB"), []),
        ((4, 1000, "0xA"), (1, 1001, "0xB"), []),
        ((4, 1000, "0xA"), (0, 0, ""), []),
        ((1, 1000, "0xA"), (5, 900, "0xB"), ["fresh_member"]),
        ((1, 1000, "0xA"), (5, 1001, "0xB"), ["fresh_member"]),
        ((1, 1000, "0xA"), (1, 900, "0xB"), []),
        ((1, 1000, "0xA"), (5, 900, "0xA"), []),
        ((4, 1000, "0xA"), (5, 1100, "0xA"), ["peer_clock"]),
    ],
)
def test_what_must_not_be_loaded(
    own: tuple[int, int, str], peer: tuple[int, int, str], codes: list[str]
) -> None:
    at = replace(
        AT,
        own={USERS: Checksum(*own)},
        others=(replace(SEEN, checksums={USERS: Checksum(*peer)}),),
        now=1002.0,
    )
    assert [danger.guard for danger in dangers(["MYSQL USERS"], at)] == codes
    assert not list(dangers(["MYSQL QUERY RULES", "SCHEDULER"], at))


def test_where_nothing_is_pulled_nothing_is_stale() -> None:
    peer = replace(SEEN, checksums=seen(5, 1001))
    at = replace(AT, others=(peer,), variables={**ACCOUNT, SWITCH: "0"})
    assert not list(dangers(["MYSQL USERS"], at))


@pytest.mark.parametrize("own", [Checksum(1, 1000, "0xA"), Checksum(4, 1000, "0xA")])
def test_a_member_of_another_version_has_nothing_to_take_over(own: Checksum) -> None:
    same = replace(ASKED, checksums=seen(5, 1001))
    other = replace(same, version_text="2.5.5")
    at = replace(AT, own={USERS: own})
    assert list(dangers(["MYSQL USERS"], replace(at, others=(same,))))
    assert not list(dangers(["MYSQL USERS"], replace(at, others=(other,))))
    assert replace(at, others=(other,)).newest_epoch("MYSQL USERS") == own.epoch


def test_who_asks_nobody_is_behind_nobody() -> None:
    peer = replace(SEEN, checksums=seen(5, 1001))
    at = replace(AT, others=(peer,), variables={**VARIABLES, "admin-cluster_username": ""})
    assert not list(dangers(["MYSQL USERS"], at))


@pytest.mark.parametrize(
    ("peer", "way_out"),
    [
        # Its own guards see newer content here: see `test_what_must_not_be_loaded`.
        (ASKED, "an apply at px2:6032 needs --force"),
        (replace(ASKED, version_text="2.5.5"), "apply at px2:6032 as well"),
        (SEEN, "it follows by itself when it answers again"),
        (replace(SEEN, checksums={}), "look at its address in proxysql_servers"),
    ],
)
def test_the_way_out_is_one(peer: Member, way_out: str) -> None:
    (found,) = reasons({USERS: OURS}, peer, AT)
    assert way_out in found.way_out


def test_the_configured_servers_count_where_a_version_tells_them_from_placed_ones() -> None:
    assert configured(["mysql_servers", "mysql_servers_v2"]) == {
        "MYSQL SERVERS": "mysql_servers_v2"
    }
    assert configured(["mysql_servers", "ldap_variables"]) == {"MYSQL SERVERS": "mysql_servers"}


def held(version: int, epoch: int, checksum: str) -> dict[str, Checksum]:
    return {USERS: Checksum(version, epoch, checksum), RULES: Checksum(1, 1, "0x0")}


@pytest.mark.parametrize(
    ("candidates", "first"),
    [
        ([held(2, 10, "0xA"), held(2, 10, "0xA")], 0),
        ([held(2, 10, "0xA"), held(2, 20, "0xB")], 1),
        ([held(1, 30, "0xA"), held(2, 20, "0xB")], 1),
        # Equal content is as good as the newest; what was never loaded since the start is not.
        ([held(2, 10, "0xB"), held(2, 20, "0xB")], 0),
        ([held(1, 30, "0xB"), held(2, 20, "0xB")], 1),
        ([held(1, 30, "0xA"), held(1, 20, "0xB")], 0),
    ],
)
def test_who_is_changed_first(candidates: list[dict[str, Checksum]], first: int) -> None:
    assert elected(candidates, ["MYSQL USERS", "SCHEDULER"]) == first


def test_members_that_list_the_same_one_are_together() -> None:
    listed = [("a:1", "b:1"), (), ("c:1",), ("b:1", "d:1"), (), ("d:1",)]
    assert together(listed) == [[0, 3, 5], [1], [2], [4]]


def test_a_peer_that_keeps_a_server_that_has_left_does_not_follow() -> None:
    kept = {Layer.MEMORY: [(10, "db1", 3306)], Layer.DISK: [(10, "db1", 3306)]}
    found = keeps(kept, ASKED, "access denied")
    assert found.text == (
        "its RUNTIME agrees, and MEMORY and DISK there keep db1:3306 in hostgroup 10, OFFLINE_HARD"
        " (access denied)"
    )
    assert found.code == "kept"
    assert found.way_out == f"apply at {ASKED.name}: only that row is left to do there"
    assert found.code not in FINAL
