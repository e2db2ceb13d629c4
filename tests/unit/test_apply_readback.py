"""Read-back: the expected text proves as much as the rows would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.apply.readback import (
    ReadBack,
    ReadBackError,
    in_key_order,
    runtime_rows,
    runtime_shortfalls,
)
from proxyctl.catalog import Layout, Value
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.read import ask
from proxyctl.instance.table_text import joined, rows_text
from proxyctl.proxysql.topology import Topology
from proxyctl.rows.row import Layer, Rows
from proxyctl.rows.sql import inserts
from tests.support.build import layout, row, rows
from tests.support.servers.instances import Instance

USERS = layout("mysql_users")
RULES = layout("mysql_query_rules")
ROUTES = layout("mysql_query_rules_fast_routing")
SERVERS = layout("mysql_servers")

AWKWARD = [
    "", "'", '"', "\\", "/", "],[", "null", "\n\t\r\b\f", "\x01\x1f", "\x7f", "é €", "\U0001f40b",
    "\u2028", "<>&",
]  # fmt: skip


@pytest.fixture
def client(instance: Instance) -> Iterator[AdminClient]:
    login = Login(instance.host, instance.port, instance.user, instance.password)
    with AdminClient(login) as opened:
        yield opened


def routes(*usernames: str) -> Rows:
    common = {"schemaname": "s", "flagIN": 0, "destination_hostgroup": 1}
    return rows(ROUTES.name, *({**common, "username": n, "comment": n} for n in usernames))


def write(client: AdminClient, of: Layout, wanted: Rows) -> None:
    for statement in inserts(of, wanted.values()):
        client.execute(statement)


NUMBERS = rows(RULES.name, *({"rule_id": n, "log": None, "delay": 2**63 - 1} for n in (1, 7)))


@pytest.mark.parametrize(("of", "wanted"), [(ROUTES, routes(*AWKWARD)), (RULES, NUMBERS)])
def test_the_text_of_rows_is_the_one_that_proxysql_gives(
    client: AdminClient, of: Layout, wanted: Rows
) -> None:
    write(client, of, wanted)
    assert joined(ask(client, [(of, Layer.MEMORY)])().texts[0]) == rows_text(wanted.values())


def test_text_that_is_not_utf8_is_not_known() -> None:
    assert rows_text([row(USERS.name, username="\udcc3")]) is None


def test_rows_that_change_after_the_first_read_are_reported(
    instance: Instance, client: AdminClient
) -> None:
    """The expected text belongs to the rows of the query, not to the table."""
    write(client, ROUTES, routes("a"))
    read_back = ReadBack(client)
    read_back.stored(ROUTES, Layer.MEMORY, routes("a"))
    with pytest.raises(ReadBackError, match="MEMORY does not hold"):
        read_back.stored(ROUTES, Layer.MEMORY, routes("b"))
    instance.run("DELETE FROM mysql_query_rules_fast_routing")
    with pytest.raises(ReadBackError, match="MEMORY does not hold"):
        read_back.stored(ROUTES, Layer.MEMORY, routes("a"))


FIRST_LOAD: dict[str, tuple[Layout, Rows]] = {
    "MYSQL USERS": (
        USERS,
        rows(
            USERS.name,
            {"username": "c", "password": "x"},
            {"username": "a", "default_hostgroup": 3, "comment": "é"},
            {"username": "d", "active": 0},
            {"username": "b", "frontend": 0},
            {"username": "e", "backend": 0},
        ),
    ),
    "MYSQL QUERY RULES": (
        RULES,
        rows(
            RULES.name,
            {"rule_id": 5, "match_digest": "^x", "re_modifiers": "caseless"},
            {"rule_id": 2, "digest": "0x1a"},
            {"rule_id": 3, "active": 0},
        ),
    ),
}


@pytest.mark.since("2.6.0", "RUNTIME holds a hash of the password")
@pytest.mark.parametrize("module", list(FIRST_LOAD))
def test_what_a_first_load_made_needs_no_parsing(
    instance: Instance, client: AdminClient, module: str
) -> None:
    of, wanted = FIRST_LOAD[module]
    write(client, of, in_key_order(wanted))
    instance.run(f"LOAD {module} TO RUNTIME")
    parsed = ReadBack(client).runtime([of], {of.name: wanted}, Topology())
    assert instance.kind == "sandbox" or not parsed


def test_routes_at_runtime_need_no_parsing_in_whatever_order_they_came(
    instance: Instance, client: AdminClient
) -> None:
    wanted = routes("b", "a", "c")
    write(client, ROUTES, wanted)
    instance.run("LOAD MYSQL QUERY RULES TO RUNTIME")
    parsed = ReadBack(client).runtime(
        [RULES, ROUTES], {RULES.name: {}, ROUTES.name: wanted}, Topology()
    )
    assert instance.kind == "sandbox" or not parsed


def test_servers_are_always_compared_row_by_row(instance: Instance, client: AdminClient) -> None:
    wanted = rows(SERVERS.name, {"hostgroup_id": 1, "hostname": "a"})
    write(client, SERVERS, wanted)
    instance.run("LOAD MYSQL SERVERS TO RUNTIME")
    parsed = ReadBack(client).runtime([SERVERS], {SERVERS.name: wanted}, Topology())
    assert parsed == {SERVERS.name: wanted}


FLAGS = st.sampled_from([0, 1])
ANY_USERS = st.lists(
    st.fixed_dictionaries(
        {
            "username": st.sampled_from("abc"),
            "backend": FLAGS,
            "frontend": FLAGS,
            "active": FLAGS,
            "default_hostgroup": st.sampled_from([-1, 0, 1]),
            "password": st.sampled_from([None, "", "x"]),
        }
    ),
    max_size=5,
)


@given(ANY_USERS)
def test_the_rows_that_runtime_should_list_have_no_shortfall(
    made: list[dict[str, Value]],
) -> None:
    """Whatever the text proves, a comparison row by row accepts too."""
    loaded = rows(USERS.name, *made)
    listed = runtime_rows(USERS, loaded)
    assert listed is not None
    found = {USERS.key_of(user): user for user in listed}
    if len(found) == len(listed):
        assert list(runtime_shortfalls(USERS, found, loaded, ())) == []
