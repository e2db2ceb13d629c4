"""Statements are few and plain, in an order that works, and masked from the start."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxyctl.catalog import TABLES
from proxyctl.catalog.tables import create_table
from proxyctl.rows.sql import inserts, literal, mask_literals, quoted_name, transition, updates
from tests.support.build import layout, row, rows

SERVERS = layout("mysql_servers")
GALERA = layout("mysql_galera_hostgroups")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_text_literal_reads_back_in_sqlite(text):
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute(f"SELECT {literal(text)}").fetchone() == (text,)
    connection.close()


@pytest.mark.parametrize("name", ["order", "Group", "current_time", 'a"b', "a b", "größe", "plain"])
def test_a_column_of_any_name_is_read(name):
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({quoted_name(name)} TEXT)")
        connection.execute(f"INSERT INTO t ({quoted_name(name)}) VALUES ('here')")
        assert connection.execute(f"SELECT {quoted_name(name)} FROM t").fetchall() == [("here",)]


def test_no_column_that_is_known_needs_quotes():
    names = {column.name for table in TABLES.values() for column in table.columns}
    assert [name for name in names if quoted_name(name) != name] == []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t ({', '.join(names)})")


CELLS_OF_ANY_KIND = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from(["", "'", "''", "a'b", "\\", "NULL", "é", "),("]),
)


@given(st.lists(st.tuples(*[CELLS_OF_ANY_KIND] * 3), min_size=1, max_size=5))
def test_rows_are_written_as_each_of_their_values_is(given_rows):
    of = layout("mysql_replication_hostgroups")
    (statement,) = inserts(of, given_rows)
    texts = ("(" + ",".join(map(literal, values)) + ")" for values in given_rows)
    assert statement.sql.split(" VALUES ", 1)[1] == ",".join(texts)


@pytest.mark.parametrize("cells", [("a", "b\0"), ("\0", "a"), ("a\0b", None), ("", "\0")])
def test_a_nul_character_among_many_rows_is_refused(cells):
    with pytest.raises(ValueError, match="NUL"):
        list(
            inserts(SERVERS, [row("mysql_servers", hostgroup_id=1, comment=cell) for cell in cells])
        )


def test_more_rows_than_are_made_together_come_all_and_in_order():
    many = rows("mysql_servers", *({"hostgroup_id": n, "hostname": "a"} for n in range(2500)))
    assert applied(SERVERS, {}, many) == many
    assert list(applied(SERVERS, {}, many)) == list(many)


def test_a_statement_stays_below_a_megabyte():
    wide = rows("mysql_query_rules", *({"rule_id": n, "comment": "x" * 9000} for n in range(300)))
    statements = list(inserts(layout("mysql_query_rules"), wide.values()))
    assert len(statements) == 3
    assert all(len(statement.sql) < 1_100_000 for statement in statements)


def test_rows_that_change_alike_take_one_update():
    before = rows("mysql_query_rules", *({"rule_id": n, "log": n % 2} for n in range(1, 6)))
    after = rows("mysql_query_rules", *({"rule_id": n, "log": 7} for n in range(1, 6)))
    statements = updates(layout("mysql_query_rules"), list(before), before, after)
    assert [statement.sql for statement in statements] == [
        "UPDATE mysql_query_rules SET log=7 WHERE rule_id IN (1,2,3,4,5)"
    ]
    nodes = [{"hostgroup_id": 1, "hostname": host, "weight": 1} for host in "abc"]
    moved = [{**node, "weight": 9 if node["hostname"] != "c" else 8} for node in nodes]
    before, after = rows("mysql_servers", *nodes), rows("mysql_servers", *moved)
    assert [statement.sql for statement in updates(SERVERS, list(before), before, after)] == [
        "UPDATE mysql_servers SET weight=9 WHERE (hostgroup_id, hostname, port) IN"
        " (VALUES (1,'a',3306),(1,'b',3306))",
        "UPDATE mysql_servers SET weight=8 WHERE hostgroup_id=1 AND hostname='c' AND port=3306",
    ]


def test_one_text_that_is_a_secret_in_one_row_only():
    variables = layout("mysql_variables")
    names = ("mysql-monitor_password", "mysql-monitor_username")
    before = {(name,): (name, "old") for name in names}
    after = {(name,): (name, "monitor") for name in names}
    masked = [statement.masked for statement in updates(variables, list(before), before, after)]
    assert masked == [
        "UPDATE global_variables SET variable_value='***'"
        " WHERE variable_name='mysql-monitor_password'",
        "UPDATE global_variables SET variable_value='monitor'"
        " WHERE variable_name='mysql-monitor_username'",
    ]


def test_a_second_password_in_the_attributes_of_a_user_is_masked():
    users = layout("mysql_users")

    def masked(attributes):
        given = rows("mysql_users", {"username": "app", "attributes": attributes})
        (statement,) = inserts(users, given.values())
        return statement.masked

    assert "sesame" not in masked('{"additional_password":"sesame"}')
    assert "sesame" not in masked('{"additional\\u005fpassword":"sesame"}')
    assert "spiffe" in masked('{"spiffe_id":"spiffe://x"}')


CELLS = {
    "mysql_replication_hostgroups": ("writer_hostgroup", "reader_hostgroup"),
    "mysql_galera_hostgroups": (
        "writer_hostgroup",
        "backup_writer_hostgroup",
        "reader_hostgroup",
        "offline_hostgroup",
    ),
    "mysql_aws_aurora_hostgroups": ("writer_hostgroup", "reader_hostgroup", "active"),
    "mysql_users": ("username", "backend", "frontend", "default_hostgroup"),
    "mysql_servers": ("hostgroup_id", "port", "weight"),
}
"""Columns that are filled with small numbers, and flags; the others keep their defaults."""

TEXTS = {"mysql_servers": {"hostname": "h"}, "mysql_aws_aurora_hostgroups": {"domain_name": ".x"}}


def create_text(of):
    """The CREATE statement of a table that takes what ProxySQL takes, as in the sandbox."""
    return create_table(of, of.name)


def stored(connection, of) -> dict:
    found = connection.execute(f"SELECT * FROM {of.name}").fetchall()
    return {of.key_of(entry): entry for entry in found}


@st.composite
def transitions(draw):
    """Two states of a table, made of rows that its real DDL accepts together."""
    table = draw(st.sampled_from(sorted(CELLS)))
    of = layout(table)

    ranges = {
        name: (0, 1) if name in ("active", "backend", "frontend") else (1, 2, 3, 4, 5, 6)
        for name in CELLS[table]
    }
    any_rows = st.lists(
        st.fixed_dictionaries({name: st.sampled_from(numbers) for name, numbers in ranges.items()}),
        max_size=6,
    )

    def turned(numbers, shifts):
        """Four rows with fixed first columns, the others filled from one list, shifted."""
        first, *others = CELLS[table]
        return [
            {first: 10 + n}
            | {name: numbers[n - shift] for name, shift in zip(others, shifts, strict=False)}
            for n in range(4)
        ]

    turned_rows = st.builds(turned, st.permutations(range(1, 7)), st.permutations(range(4)))

    def state():
        made = draw(any_rows | turned_rows)
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(create_text(of))
            for values in made:
                (statement,) = inserts(of, [row(table, **values, **TEXTS.get(table, {}))])
                connection.execute(statement.sql.replace("INSERT", "INSERT OR IGNORE", 1))
            return stored(connection, of)

    return of, state(), state()


def galera(*given_rows):
    """Rows of mysql_galera_hostgroups: writer, backup writer, reader and offline hostgroup."""
    return rows(
        GALERA.name, *(dict(zip(CELLS[GALERA.name], values, strict=True)) for values in given_rows)
    )


@given(transitions())
@example(
    (
        GALERA,
        galera((10, 30, 20, 40), (11, 32, 31, 30)),
        galera((11, 33, 20, 41), (10, 20, 34, 40)),
    )
)
@example(
    (
        GALERA,
        galera((10, 31, 30, 40), (11, 30, 21, 41)),
        galera((11, 33, 30, 41), (10, 31, 22, 40)),
    )
)
def test_a_transition_works_whatever_unique_keys_the_table_has(case):
    of, before, after = case
    assert applied(of, before, after) == after


FAMILIES = ((10, 20, 30, 40), (11, 21, 31, 41), (12, 22, 32, 42))
"""Writer, backup writer, reader and offline hostgroups; all but the writer are UNIQUE."""


TRADES = {
    "two readers trade": ((10, 20, 31, 40), (11, 21, 30, 41), FAMILIES[2]),
    "three readers go round": ((10, 20, 31, 40), (11, 21, 32, 41), (12, 22, 30, 42)),
    "everything but the writer": ((10, 21, 31, 41), (11, 20, 30, 40), FAMILIES[2]),
    "one column here, another there": ((10, 21, 30, 42), (11, 22, 31, 40), (12, 20, 32, 41)),
    "the writers trade": ((11, 20, 30, 40), (10, 21, 31, 41), FAMILIES[2]),
    "a new writer takes all of an old": ((13, 20, 30, 40), (11, 21, 32, 41), (12, 22, 31, 42)),
    "one leaves its values to the others": ((10, 20, 31, 40), (12, 21, 30, 42)),
    "a reader moves on, another moves up": ((10, 20, 31, 40), (11, 21, 33, 41), FAMILIES[2]),
}


@pytest.mark.parametrize("after", TRADES.values(), ids=TRADES)
def test_families_may_trade_their_hostgroups(after):
    assert applied(GALERA, galera(*FAMILIES), galera(*after)) == galera(*after)


@pytest.mark.parametrize("column", ["hostname", "hostgroup_id", "port"])
def test_servers_may_trade_their_keys(column):
    one = {"hostgroup_id": 1, "hostname": "a", "port": 3306, "weight": 10}
    other = {"hostgroup_id": 2, "hostname": "b", "port": 3307, "weight": 20}
    after = rows(SERVERS.name, one | {column: other[column]}, other | {column: one[column]})
    assert applied(SERVERS, rows(SERVERS.name, one, other), after) == after


def applied(of, before, after):
    """Return SQLite's rows after the transition of a table as ProxySQL declares it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(create_text(of))
        for statement in [*inserts(of, before.values()), *transition(of, before, after)]:
            connection.execute(statement.sql)
        return stored(connection, of)


class Counted(int):
    """A number that counts how often it is hashed or compared."""

    count = 0

    def __hash__(self):
        Counted.count += 1
        return super().__hash__()

    def __eq__(self, other):
        Counted.count += 1
        return super().__eq__(other)


def turned_families(number):
    """States of a table with several UNIQUE columns: some rows leave or come, others trade."""

    def state(first, shift):
        made = (
            (n, 10_000 + n, 20_000 + (n + shift) % number, 30_000 + n)
            for n in range(first, first + number)
        )
        return galera(*(tuple(map(Counted, hostgroups)) for hostgroups in made))

    return state(0, 0), state(number // 4, 1)


@pytest.mark.parametrize("states", [turned_families, lambda n: turned_families(n)[::-1]])
def test_twice_as_many_rows_take_twice_the_work(states):
    def work(number):
        before, after = states(number)
        Counted.count = 0
        assert {s.sql.split()[0] for s in transition(GALERA, before, after)} >= {"DELETE", "INSERT"}
        return Counted.count

    assert 0 < work(2000) <= 2.1 * work(1000)


@pytest.mark.parametrize(
    ("sql", "masked"),
    [
        ("SELECT 'a', 5, 'it''s', x", "SELECT '***', 5, '***', x"),
        ("SELECT 'a', 'cut off by a serv", "SELECT '***', '***'"),
        ("SELECT ''", "SELECT '***'"),
    ],
)
def test_every_literal_is_masked_also_one_without_an_end(sql: str, masked: str) -> None:
    assert mask_literals(sql) == masked
