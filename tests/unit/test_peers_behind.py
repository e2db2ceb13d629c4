"""Who is named as behind, where members of one cluster are changed one after the other."""

from __future__ import annotations

from collections.abc import Collection

from proxyctl.cluster.behind import PeersBehind
from proxyctl.result import NotFollowing, PeerResult

USERS, RULES = "MYSQL USERS", "MYSQL QUERY RULES"


def addresses_of(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    return {host: frozenset({host, "10.0.0.1"} if host == "px1" else {host}) for host in hosts}


def peer(name: str, *modules: str) -> PeerResult:
    return PeerResult(name, tuple(NotFollowing(one, "other", "why") for one in modules))


def found(*applies: tuple[str, PeerResult]) -> dict[str, list[str]]:
    """Return in what peers are behind after applies that loaded one module each."""
    behind = PeersBehind(addresses_of)
    for loaded, one in applies:
        behind.note([one], {loaded})
    return {one.name: [why.module for why in one.reasons] for one in behind.without(())}


def test_what_another_apply_loaded_tells_of_that_only() -> None:
    first = (USERS, peer("px1:6032", USERS))
    assert found(first, (RULES, peer("px1:6032"))) == {"px1:6032": [USERS]}
    assert found(first, (RULES, peer("px1:6032", RULES))) == {"px1:6032": [USERS, RULES]}
    assert found(first, (USERS, peer("px1:6032"))) == {}


def test_two_names_are_one_peer() -> None:
    first = (USERS, peer("px1:6032", USERS))
    assert found(first, (USERS, peer("10.0.0.1:6032"))) == {}
    assert found(first, (RULES, peer("10.0.0.1:6032"))) == {"10.0.0.1:6032": [USERS]}
    assert found(first, (USERS, peer("10.0.0.1:6033"))) == {"px1:6032": [USERS]}
