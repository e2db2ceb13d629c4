"""What a look of the live view sends, on the sandbox and on a real ProxySQL."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from proxyctl.errors import ConnectionLostError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.sandbox.statistics import digest_rows
from proxyctl.stats.live.read import Looker
from tests.support.servers import Instance

DIGESTS = "stats_mysql_query_digest"


class Traced:
    """A looker, and the statements that it sent."""

    def __init__(self, instance: Instance) -> None:
        self.sent: list[str] = []
        login = Login(port=instance.port, password="admin")
        self.client = AdminClient(login, trace=self.sent.append)
        self.looker = Looker(self.client)

    def look(self, interval_s: float = 0) -> list[str]:
        """Look, and return what was sent for it, without what is told of the answers."""
        self.sent.clear()
        self.looker.look(interval_s)
        return [told for told in self.sent if not told.startswith(" ")]


@pytest.fixture
def traced(instance: Instance) -> Iterator[Traced]:
    found = Traced(instance)
    yield found
    found.client.close()


def test_looks_are_selects_and_name_no_table_that_reading_clears(traced: Traced) -> None:
    for _ in range(2):
        sent = traced.look()
        assert all(one.startswith("SELECT ") for one in sent)
        assert not any("_reset" in one for one in sent)
        assert sum(DIGESTS in one for one in sent) <= 1


def test_digests_are_named_when_it_is_their_turn_only(traced: Traced) -> None:
    assert any(DIGESTS in one for one in traced.look(interval_s=1_000))
    assert not any(DIGESTS in one for one in traced.look(interval_s=1_000))


def test_rules_are_read_again_only_when_they_were_loaded(
    traced: Traced, instance: Instance
) -> None:
    def reads_rules() -> bool:
        return any("runtime_mysql_query_rules" in one for one in traced.look())

    assert reads_rules()
    assert not reads_rules()
    instance.execute("INSERT INTO mysql_query_rules (rule_id, active, apply) VALUES (5, 1, 1)")
    instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
    assert reads_rules()
    assert not reads_rules()
    assert list(traced.looker.look(0).rules.rules) == [5]


def test_a_look_brings_what_was_hit_and_what_costs_most(sandbox_instance: Instance) -> None:
    sandbox = sandbox_instance.sandbox
    assert sandbox is not None
    recorded = digest_rows(time.time())
    old, hit = recorded[0], recorded[1]
    sandbox.stats[DIGESTS] = [old, hit]
    traced = Traced(sandbox_instance)
    found = traced.looker.look(0).digests
    assert found is not None
    assert [one.digest for one in found.entries] == [old[4], hit[4]]
    assert (found.whole.entries, found.busy, found.is_cut) == (2, 2, False)
    assert found.clock == pytest.approx(time.time(), abs=60)
    traced.client.close()


def test_digests_that_take_too_long_are_left_alone_for_a_while(sandbox_instance: Instance) -> None:
    """ProxySQL goes on with the copy when nobody waits for it any more: do not ask at once."""
    sandbox = sandbox_instance.sandbox
    assert sandbox is not None
    with ExitStack() as held:

        def hold_digests(statement: str) -> None:
            if DIGESTS in statement:
                held.enter_context(sandbox.held())

        login = Login(port=sandbox_instance.port, password="admin", read_timeout_s=1)
        client = AdminClient(login, trace=hold_digests)
        looker = Looker(client)
        with pytest.raises(ConnectionLostError):
            looker.look(0)
    client.connect()
    look = looker.look(0)
    assert look.digests is None
    assert look.state.is_rare
    assert look.state.every_s is not None
    assert look.state.every_s >= 20
    client.close()
