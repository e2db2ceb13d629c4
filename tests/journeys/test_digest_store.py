"""digest collect, and what a store holds of what was counted: on the sandbox."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.sandbox import Sandbox
from proxyctl.stats.store.collect import collect
from tests.support.commands.cli import Project, proxyctl
from tests.support.digests.collecting import (
    COLLECT,
    READ,
    READ_TEXT,
    WRITE,
    WRITE_TEXT,
    collected,
    here,
)
from tests.support.digests.seen import seen_digest
from tests.support.digests.stored import CountingSandbox, add_hour, age, change_store, stored_sums
from tests.support.servers.instances import Instance

GREETING = "SET NAMES utf8mb4"


def test_what_was_counted_between_two_collections_is_stored(shop: CountingSandbox) -> None:
    first = collected()
    assert "the first collection only records the counters" in first.err
    assert Path("digests.db").stat().st_mode & 0o777 == 0o600  # queries reveal what is done
    shop.run(READ, 5, 2000)
    shop.run(WRITE, 3, 7000)
    assert "8 queries of 2 entries added" in collected().err
    assert "0 queries of 0 entries added" in collected().err
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (5, 10_000), WRITE_TEXT: (3, 21_000)}
    listed = proxyctl("digest", "top", "--store", "digests.db", "--since", "1h", "--format", "json")
    assert [row["sum_time"] for row in listed.json["digests"]] == [21_000, 10_000]
    assert listed.json["total"] == {"entries": 2, "count_star": 8, "sum_time": 31_000}
    [instance] = listed.json["instances"]
    assert listed.json["digests"][0]["instances"] == [instance["name"]]


def test_filters_and_groups_of_a_list_from_a_store(shop: CountingSandbox) -> None:
    collected()
    shop.run(READ, 5)
    shop.run(WRITE, 3)
    collected()

    def listed(*arguments: str) -> list[str]:
        found = proxyctl(
            *("digest", "top", "--store", "digests.db", "--format", "json", *arguments)
        ).json
        return [row.get("digest_text", row["count_star"]) for row in found["digests"]]

    assert listed("--text", "update") == [WRITE_TEXT]
    assert listed("--min-count", "4") == [READ_TEXT]
    assert listed("--username", "nobody") == []
    assert listed("--hostgroup", "10", "--schemaname", "shop", "--seen-since", "1h") == [
        READ_TEXT,
        WRITE_TEXT,
    ]
    assert listed("--digest", shop.rows[WRITE].digest) == [WRITE_TEXT]
    assert listed("--group", "hostgroup,instance") == [8]


def test_cleared_counters_count_from_zero(shop: CountingSandbox) -> None:
    collected()
    shop.run(READ, 4)
    shop.clear()
    shop.run(READ, 30)
    assert "note: " in (found := collected()).err
    assert "the counters were cleared" in found.err
    assert stored_sums(Path("digests.db"))[READ_TEXT] == (30, 30_000)
    top = proxyctl("digest", "top", "--store", "digests.db")
    assert "the counters were cleared in between" in " ".join(top.out.split())


def test_a_change_that_its_time_hides_is_found_by_the_sums(shop: CountingSandbox) -> None:
    shop.run(WRITE, 1, ago_s=5000)
    collected()
    shop.run(WRITE, 6, ago_s=5000)  # as if somebody had set the clock
    assert "6 queries of 1 entry added" in collected().err
    assert stored_sums(Path("digests.db")) == {WRITE_TEXT: (6, 6000)}


def test_a_clock_that_was_set_changes_no_sum(shop: CountingSandbox) -> None:
    assert shop.instance.sandbox is not None
    uptime = ("ProxySQL_Uptime", "90000")
    shop.instance.sandbox.stats["stats_mysql_global"] = [uptime]
    collected()
    for moved_s, direction in ((3600, "back"), (-7200, "forward")):
        # As if the clock had been elsewhere at the last reading.
        change_store(
            Path("digests.db"),
            f"UPDATE instance SET taken_at = taken_at + {moved_s},"
            f" first_seen = first_seen + {moved_s}",
            f"UPDATE series SET first_seen = first_seen + {moved_s}",
        )
        shop.run(READ, 2)
        found = collected().err
        assert "2 queries of 1 entry added" in found
        assert f"its clock was set {direction} by" in found
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (4, 4000)}


def test_a_restart_is_told_from_a_clock_that_was_set(shop: CountingSandbox) -> None:
    assert shop.instance.sandbox is not None
    stats = shop.instance.sandbox.stats
    stats["stats_mysql_global"] = [("ProxySQL_Uptime", "90000")]
    collected()
    stats["stats_mysql_global"] = [("ProxySQL_Uptime", "60")]
    shop.run(READ, 5)  # the counters go on, and would look as if nothing had happened
    assert "15 queries of 1 entry added" in (found := collected()).err
    assert "cleared" in found.err
    # Up for longer than before, but since a later moment: the time may be wrong, or it restarted.
    change_store(Path("digests.db"), "UPDATE instance SET uptime = 5, taken_at = taken_at - 1000")
    shop.run(READ, 5)
    assert "its uptime does not show which" in (found := collected()).err
    assert "added" not in found.err
    shop.run(READ, 1)
    assert "1 query of 1 entry added" in collected().err


@pytest.mark.parametrize("uptime", ["95000", "90000", "300", "5"])
def test_another_proxysql_behind_the_address_adds_nothing(
    shop: CountingSandbox, uptime: str
) -> None:
    """As a virtual address that moves: nothing of what the other one counted before is growth."""
    assert shop.instance.sandbox is not None
    stats = shop.instance.sandbox.stats
    stats["stats_mysql_global"] = [("ProxySQL_Uptime", "90000")]
    shop.run(GREETING, 2)
    collected()
    shop.run(READ, 2)
    collected()
    stats["stats_mysql_global"] = [("ProxySQL_Uptime", uptime)]
    greeting = shop.rows[GREETING]  # began as long after the start of the other one, by chance
    moved = greeting._replace(first_seen=greeting.first_seen + 90_000 - int(uptime))
    began = int(time.time()) - 250
    shop.rows = {
        query: seen_digest(query, count_star=5000, first_seen=began, last_seen=began + 9)
        for query in (READ, WRITE)
    } | {GREETING: moved}
    shop.run(WRITE, 1)
    found = collected().err
    assert "a different ProxySQL answers here than at the last collection" in found
    assert "added" not in found
    shop.run(WRITE, 4)
    assert "4 queries of 1 entry added" in collected().err
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (2, 2000), WRITE_TEXT: (4, 4000)}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from([READ, WRITE]), st.integers(1, 9), st.sampled_from([0, 5000])),
        st.sampled_from(["clear", "collect"]),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def property_sandbox() -> Iterator[Sandbox]:
    with Sandbox() as served:
        yield served


@given(steps=STEPS)
def test_a_store_holds_what_every_collection_saw_grow(
    steps: list[tuple[str, int, int] | str],
    property_sandbox: Sandbox,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    path = tmp_path_factory.mktemp("store") / "digests.db"
    handle = Instance(property_sandbox.host, property_sandbox.port, sandbox=property_sandbox)
    shop, expected, since = CountingSandbox(handle), {READ: 0, WRITE: 0}, {READ: 0, WRITE: 0}
    shop.clear()
    login = Login(host=handle.host, port=handle.port, password=handle.password)
    with AdminClient(login) as client:
        collect(path, client)
        for step in [*steps, "collect"]:
            match step:
                case "clear":
                    shop.clear()
                    since = {READ: 0, WRITE: 0}
                case "collect":
                    collect(path, client)
                    expected = {query: expected[query] + since[query] for query in since}
                    since = {READ: 0, WRITE: 0}
                case (str(query), int(calls), int(ago_s)):
                    shop.run(query, calls, ago_s=ago_s)
                    since[query] += calls
    handle.close()
    found = stored_sums(path)
    texts = {READ_TEXT: expected[READ], WRITE_TEXT: expected[WRITE]}
    assert found == {text: (calls, calls * 1000) for text, calls in texts.items() if calls}


# -- several collectors and instances --------------------------------------------------------------


def test_collectors_that_meet_count_nothing_twice(shop: CountingSandbox, tmp_path: Path) -> None:
    path = tmp_path / "digests.db"
    instance = shop.instance
    login = Login(host=instance.host, port=instance.port, password=instance.password)
    errors: list[Exception] = []

    def collector() -> None:
        try:
            with AdminClient(login) as client:
                for _ in range(8):
                    collect(path, client)
        except Exception as error:
            errors.append(error)

    with AdminClient(login) as client:
        collect(path, client)
    threads = [threading.Thread(target=collector) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        shop.run(READ, 1)
        shop.run(WRITE, 2)
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    with AdminClient(login) as client:
        collect(path, client)
    assert errors == []
    assert stored_sums(path) == {READ_TEXT: (20, 20_000), WRITE_TEXT: (40, 40_000)}


def test_an_instance_is_known_by_its_address(
    shop: CountingSandbox, sandbox_project: Project
) -> None:
    port = shop.instance.port

    def list_as(name: str) -> None:
        sandbox_project.write(
            f"instances: [{{name: {name}, host: 127.0.0.1, port: {port}, password: admin}}]\n"
        )

    collected()
    shop.run(READ, 1)
    list_as("px1")
    assert f"the store previously called it 127.0.0.1:{port}" in collected("--all").err
    shop.run(READ, 2)
    alone = collected("--host", "127.0.0.1", "--port", str(port)).err
    assert alone.startswith(f"px1  127.0.0.1:{port}: 2 queries of 1 entry added"), alone
    shop.run(READ, 4)
    list_as("px2")
    assert "the store previously called it px1" in collected("--all").err
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (7, 7000)}
    listed = proxyctl("digest", "top", "--store", "digests.db", "--format", "json").json
    assert [instance["name"] for instance in listed["instances"]] == ["px2"]


class WatchedRows(list[tuple[object, ...]]):
    """Rows of a sandbox, during whose reading a store must not be locked."""

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        store = sqlite3.connect("digests.db", timeout=0, isolation_level=None)
        store.execute("BEGIN IMMEDIATE")
        store.close()
        return super().__iter__()


def test_the_store_is_not_locked_while_an_instance_answers(shop: CountingSandbox) -> None:
    assert shop.instance.sandbox is not None
    collected()
    for _ in range(2):
        shop.run(READ, 1)
        rows = shop.instance.sandbox.stats["stats_mysql_query_digest"]
        shop.instance.sandbox.stats["stats_mysql_query_digest"] = WatchedRows(rows)
        assert "1 query of 1 entry added" in collected().err
        shop.clear()


def test_one_instance_of_many_that_cannot_be_read(
    shop: CountingSandbox, sandbox_project: Project
) -> None:
    shop_at = f"host: 127.0.0.1, port: {shop.instance.port}, password: admin"
    sandbox_project.write(
        "version: 1\ninstances:\n"
        f"  - {{name: px1, {shop_at}}}\n  - {{name: px2, host: 127.0.0.1, port: 1}}\n"
    )
    for _ in range(2):
        found = collected("--all", code=1)
        assert "px2  127.0.0.1:1\nerror: " in found.err
        shop.run(READ, 2)
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (2, 2000)}
    refused = proxyctl("digest", "top", "--store", "digests.db", "--instance", "px9")
    assert (refused.code, "choose from px1" in refused.err) == (64, True)


def test_collecting_again_until_a_signal(shop: CountingSandbox) -> None:
    every = [*COLLECT, "--every", "1s"]
    with subprocess.Popen(every, env=here(), stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        assert "first collection" in child.stderr.readline()
        shop.run(READ, 3)
        while "3 queries" not in (line := child.stderr.readline()):
            assert "0 queries" in line, line
        child.send_signal(signal.SIGTERM)
        rest = child.stderr.read()
    assert (child.returncode, rest.splitlines()[-1]) == (0, "stopped; what was collected is stored")
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (3, 3000)}


def test_collecting_again_goes_on_after_an_error(shop: CountingSandbox) -> None:
    every = [*COLLECT, "--every", "1s", "--keep", "90d"]
    store, aside = Path("digests.db"), Path("aside.db")
    with subprocess.Popen(every, env=here(), stderr=subprocess.PIPE, text=True) as child:
        assert child.stderr is not None
        assert "first collection" in child.stderr.readline()
        store.rename(aside)
        store.write_text("no store")
        while "not a store of digests" not in (line := child.stderr.readline()):
            assert line, child.wait()
        aside.replace(store)
        shop.run(READ, 3)
        while "3 queries" not in (line := child.stderr.readline()):
            assert line, child.wait()
        child.send_signal(signal.SIGTERM)
        child.stderr.read()
    assert child.returncode == 0


def test_keep_deletes_what_is_older(shop: CountingSandbox) -> None:
    collected()
    shop.run(READ, 2)
    collected()
    age(Path("digests.db"), 2 * 86_400)
    shop.run(WRITE, 1)
    collected("--keep", "3d")
    assert {*stored_sums(Path("digests.db"))} == {READ_TEXT, WRITE_TEXT}
    collected("--keep", "1d")
    assert {*stored_sums(Path("digests.db"))} == {WRITE_TEXT}
    shop.run(READ, 1)  # still counted by ProxySQL, so its growth is still known
    collected("--keep", "1d")
    assert stored_sums(Path("digests.db")) == {READ_TEXT: (1, 1000), WRITE_TEXT: (1, 1000)}


FILES = """\
version: 1
hostgroups: {writer: {id: 10}, reader: {id: 20}}
mysql_servers:
  - {hostgroup_id: writer, hostname: db1}
  - {hostgroup_id: reader, hostname: db2}
mysql_users: [{username: app, default_hostgroup: writer}]
mysql_query_rules:
  - {rule_id: 10, match_digest: '^SELECT', destination_hostgroup: reader, apply: true}
"""


def test_a_store_is_replayed_and_gives_suggestions(
    shop: CountingSandbox, sandbox_project: Project
) -> None:
    collected()
    shop.run(READ, 7)
    collected()
    shop.clear()  # what follows comes from the store
    sandbox_project.write(FILES)
    replayed = proxyctl("replay", "--store", "digests.db", "--since", "1h", "--format", "json")
    assert replayed.code == 0, replayed.text
    assert replayed.json["total"]["count_star"] == 7
    advice = proxyctl("digest", "suggest", "--store", "digests.db", "--format", "json")
    assert (advice.code, advice.json["digests"]) == (0, 1), advice.text
    for command in (("replay",), ("digest", "suggest")):
        refused = proxyctl(*command, "--store", "digests.db", "--digests", "x.gz")
        assert "--digests cannot be used with --store" in refused.err
    sandbox_project.write(
        f"{FILES}instances: [{{name: px2, host: 127.0.0.1, port: {shop.instance.port},"
        " password: admin}]\n"
    )
    add_hour(Path("digests.db"), "px2", int(time.time()), [seen_digest(READ, count_star=1)])
    refused = proxyctl("replay", "--store", "digests.db")
    assert (refused.code, "has several instances" in refused.err) == (64, True), refused.text
    one = proxyctl("replay", "--store", "digests.db", "--instance", "px2", "--format", "json")
    assert one.json["total"]["count_star"] == 1


def test_a_report_draws_the_load_of_a_store(shop: CountingSandbox) -> None:
    collected()
    shop.run(READ, 7)
    collected()
    age(Path("digests.db"), 3 * 3600)
    shop.clear()
    shop.run(WRITE, 2, 5_000_000)
    collected()
    done = proxyctl("digest", "report", "--store", "digests.db", "-o", "report.html")
    assert done.code == 0, done.text
    assert "2 digests reported in report.html" in done.err
    text = Path("report.html").read_text(encoding="utf-8")
    for part in ("Load over time", "Everything counted from", READ_TEXT, WRITE_TEXT):
        assert part in text
    assert "snapshot" not in text
    assert "the counts between the previous collection and the reset are lost" in text
    refused = proxyctl("digest", "report", "--store", "digests.db", "-o", "r.html", "x.gz")
    assert "--store does not read an instance or a snapshot" in refused.err
