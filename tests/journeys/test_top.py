"""The live view on the sandbox: its keys, and changes and errors of the server."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from proxyctl.cli.top.app import KEYS, TopApp
from proxyctl.errors import ConnectionLostError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.sandbox import Sandbox
from proxyctl.sandbox.statistics import digest_rows
from proxyctl.stats.live.read import Looker
from tests.support.commands.logs import logged
from tests.support.paths import ROOT
from tests.support.servers.instances import Instance

Story = Callable[[Pilot[Any], TopApp], Awaitable[None]]
DIGESTS = "stats_mysql_query_digest"
CLIENT = "proxyctl.instance.client"
"""The logger of statements."""
ITEMS, SETTINGS = "SELECT * FROM items", "SELECT value FROM settings"


@pytest.fixture
def shop(sandbox_instance: Instance) -> Instance:
    """A sandbox with recorded statistics, two servers and a rule."""
    assert sandbox_instance.sandbox is not None
    sandbox_instance.sandbox.stats[DIGESTS] = digest_rows(time.time())
    for statement in (
        "INSERT INTO mysql_servers (hostgroup_id, hostname) VALUES (10, 'db1'), (20, 'db2')",
        "INSERT INTO mysql_query_rules (rule_id, active, match_digest, destination_hostgroup)"
        " VALUES (7, 1, '^SELECT', 20)",
        "LOAD MYSQL SERVERS TO RUNTIME",
        "LOAD MYSQL QUERY RULES TO RUNTIME",
    ):
        sandbox_instance.execute(statement)
    return sandbox_instance


def watch(instance: Instance, story: Story, *, ready: str = ITEMS) -> TopApp:
    """Open the view, wait until it shows a text, and yield."""
    client = AdminClient(Login(port=instance.port, password="admin", connect_timeout_s=60))
    app = TopApp(client, 0.5)

    async def run() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, app, ready)
            await story(pilot, app)

    asyncio.run(run())
    return app


def screen(app: TopApp) -> list[str]:
    """Return the visible lines."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def until(pilot: Pilot[Any], app: TopApp, text: str, *, is_there: bool = True) -> None:
    """Wait until a text is on the screen, or is there no more."""
    deadline = time.monotonic() + 60
    while (text in "\n".join(screen(app))) is not is_there:
        assert time.monotonic() < deadline, "\n".join(screen(app))
        await pilot.pause(0.02)


async def press(pilot: Pilot[Any], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


def place(app: TopApp, text: str) -> int:
    """Return the number of the screen line with a text."""
    [found] = [number for number, line in enumerate(screen(app)) if text in line]
    return found


def test_it_all_fits_80_columns_and_24_lines(shop: Instance) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await until(pilot, app, "^SELECT -> hostgroup 20")
        await until(pilot, app, "q quit ? keys")
        lines = screen(app)
        assert len(lines) == 24
        assert all(len(line) == 80 for line in lines)
        assert lines[0].startswith(f"127.0.0.1:{shop.port}  ProxySQL 2.7.1-sandbox  up ")
        assert lines[0].endswith("every 0.5 s")
        text = "\n".join(lines)
        for part in ("db1:3306", "ONLINE", ITEMS, "61.4 ms", "1.50 h"):
            assert part in text
        assert lines[-1].startswith("q quit ? keys")
        assert "pause" in lines[-1]

    watch(shop, story)


def test_a_terminal_of_any_size_is_drawn_on(shop: Instance) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        for columns, lines in ((60, 12), (200, 60), (20, 5), (1, 1)):
            await pilot.resize_terminal(columns, lines)
            await pilot.pause()
            assert len(screen(app)) == lines
        await pilot.resize_terminal(150, 40)
        await until(pilot, app, "schema")

    watch(shop, story)


def test_order_goes_from_column_to_column(shop: Instance) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await press(pilot, "2")
        await until(pilot, app, "db1:3306", is_there=False)
        assert place(app, ITEMS) < place(app, SETTINGS)
        await press(pilot, "greater_than_sign", "greater_than_sign", "greater_than_sign")
        await until(pilot, app, "by avg")
        assert "SELECT customer_id,SUM(total" in screen(app)[5]
        await press(pilot, "less_than_sign")
        await until(pilot, app, "by queries/s")

    watch(shop, story)


def test_a_filter_is_seen_while_it_is_typed(shop: Instance) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await press(pilot, "slash", *"quit")  # q is a letter here
        assert app.query_one(Input).value == "quit"
        await press(pilot, *["backspace"] * 4, *"settings")
        await until(pilot, app, ITEMS, is_there=False)
        await press(pilot, "enter")
        await until(pilot, app, "with 'settings': 1 of 1")
        await press(pilot, "escape")
        await until(pilot, app, ITEMS)

    watch(shop, story)


LOOKS = {
    "each table has a view": [
        ("1", "db1:3306", ITEMS),
        ("2", ITEMS, "db1:3306"),
        ("3", "^SELECT", ITEMS),
        ("0", "db1:3306", ""),
        ("", ITEMS, ""),
    ],
    "a filter is for the table that has the keys": [
        ("shift+tab slash d b 2 enter", "db2:3306", "db1:3306"),
        ("", ITEMS, ""),
    ],
    "the chosen line stays chosen when the order changes": [
        ("2 down full_stop enter", "SELECT name,price FROM items WHERE id = ?", ""),
    ],
}
"""Keys, what is on the screen then, and what is not, one after the other."""


@pytest.mark.parametrize("looks", LOOKS.values(), ids=LOOKS)
def test_what_keys_show(shop: Instance, looks: list[tuple[str, str, str]]) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        for keys, there, away in looks:
            await press(pilot, *keys.split())
            await until(pilot, app, there)
            if away:
                await until(pilot, app, away, is_there=False)

    watch(shop, story)


def test_pause_stops_the_looks(shop: Instance) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await press(pilot, "p")
        await until(pilot, app, "paused")
        shop.execute("DELETE FROM mysql_servers WHERE hostname = 'db2'")
        shop.execute("LOAD MYSQL SERVERS TO RUNTIME")
        await pilot.pause(1.5)  # for three looks, if there were any
        assert "db2" in "\n".join(screen(app))
        await press(pilot, "p")
        await until(pilot, app, "db2", is_there=False)

    watch(shop, story)


def test_help_and_a_line_in_full_close_again(shop: Instance) -> None:
    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await press(pilot, "question_mark")
        await until(pilot, app, "sort one column further left")
        await press(pilot, "question_mark")
        await until(pilot, app, "sort by", is_there=False)
        await press(pilot, "enter")
        await until(pilot, app, "0x883DDE99F7CDEC3E")
        shop.execute("DELETE FROM mysql_servers WHERE hostname = 'db1'")
        shop.execute("LOAD MYSQL SERVERS TO RUNTIME")
        await until(pilot, app, "db1:3306", is_there=False)  # the view below goes on
        await press(pilot, "q")
        await until(pilot, app, "0x883DDE99F7CDEC3E", is_there=False)
        assert app.is_running

    watch(shop, story)


def test_keys_that_end_it(shop: Instance) -> None:
    def ended_by(*keys: str) -> object:
        async def story(pilot: Pilot[Any], app: TopApp) -> None:
            await press(pilot, *keys)

        app = watch(shop, story)
        assert app.failure is None
        return app.return_value

    assert ended_by("q") is None
    assert str(ended_by("ctrl+c")) == "2"
    assert str(ended_by("slash", "a", "ctrl+c")) == "2"
    assert str(ended_by("question_mark", "ctrl+c")) == "2"


def test_the_page_names_every_key() -> None:
    page = (ROOT / "docs/how-to/top.md").read_text(encoding="utf-8")
    assert [
        binding.key for binding in KEYS if f"`{binding.key_display or binding.key}`" not in page
    ] == []


def test_markup_and_escapes_in_texts_are_text(shop: Instance) -> None:
    assert shop.sandbox is not None
    evil = "SELECT '[red]x[/]' \x1b[2J [b"
    row = (10, "shop", "[u]", "", "0xBB", evil, 9, 1, int(time.time()), 10**12, 1, 1, 0, 0)
    shop.sandbox.stats[DIGESTS] = [row]

    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await until(pilot, app, r"SELECT '[red]x[/]' \x1b[2J")
        await press(pilot, "slash", *"[red]", "enter")
        await until(pilot, app, "with '[red]': 1 of 1")
        await press(pilot, "enter")
        await until(pilot, app, r"SELECT '[red]x[/]' \x1b[2J [b")
        await until(pilot, app, "[u]")

    watch(shop, story, ready="db1:3306")


def test_digests_that_are_too_many_are_not_read(shop: Instance) -> None:
    assert shop.sandbox is not None
    shop.sandbox.stats["stats_memory_metrics"] = [("query_digest_memory", "400000000")]

    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        await until(pilot, app, "digests are not read: 400 MB")
        assert ITEMS not in "\n".join(screen(app))

    watch(shop, story, ready="db1:3306")


def test_a_lost_connection_is_reported_and_opened_again(shop: Instance) -> None:
    sandbox = shop.sandbox
    assert sandbox is not None

    async def story(pilot: Pilot[Any], app: TopApp) -> None:
        sandbox.stop()
        await until(pilot, app, "no connection")
        await until(pilot, app, "trying again")
        assert ITEMS in "\n".join(screen(app))
        sandbox.start(port=shop.port)
        await until(pilot, app, "every 0.5 s")

    watch(shop, story)


# -- what a look sends -----------------------------------------------------------------------------


def test_looks_are_selects_and_name_no_table_that_reading_clears(instance: Instance) -> None:
    """Rules are read again only after a LOAD."""
    sent: list[str] = []
    with (
        logged(lambda record: sent.append(record.getMessage()), CLIENT),
        AdminClient(Login(port=instance.port, password="admin")) as client,
    ):
        looker = Looker(client)

        def reads_rules() -> bool:
            sent.clear()
            looker.look(0)
            # Records about answers begin with a blank.
            asked = [line for line in sent if not line.startswith(" ")]
            assert all(
                statement.startswith("SELECT ") and "_reset" not in statement for statement in asked
            )
            assert sum(DIGESTS in statement for statement in asked) <= 1
            return any("runtime_mysql_query_rules" in statement for statement in asked)

        assert [reads_rules(), reads_rules()] == [True, False]
        instance.execute("INSERT INTO mysql_query_rules (rule_id, active, apply) VALUES (5, 1, 1)")
        instance.execute("LOAD MYSQL QUERY RULES TO RUNTIME")
        assert [reads_rules(), reads_rules()] == [True, False]


def test_digests_that_take_too_long_are_left_alone_for_a_while(sandbox: Sandbox) -> None:
    """ProxySQL continues the copy when the client has given up: do not ask again at once."""
    with ExitStack() as held:

        def hold_digests(record: logging.LogRecord) -> None:
            if DIGESTS in record.getMessage():
                held.enter_context(sandbox.held())

        client = AdminClient(Login(port=sandbox.port, password="admin", read_timeout_s=1))
        looker = Looker(client)
        with logged(hold_digests, CLIENT), pytest.raises(ConnectionLostError):
            looker.look(0)
    client.connect()
    look = looker.look(0)
    assert (look.digests, look.state.is_rare) == (None, True)
    assert look.state.every_s is not None
    assert look.state.every_s >= 20
    client.close()
