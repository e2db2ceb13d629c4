"""Statements: few, plain, in an order that works, and masked when they are made."""

import sqlite3
import time
from contextlib import closing

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxyctl.catalog.ddl import create_table
from proxyctl.sql import deletes, inserts, literal, mask_literals, transition, update
from tests.build import layout, row, rows

SERVERS = layout("mysql_servers")
REPLICATION = layout("mysql_replication_hostgroups")
GALERA = layout("mysql_galera_hostgroups")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
def test_a_text_literal_reads_back_in_sqlite(text):
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute(f"SELECT {literal(text)}").fetchone() == (text,)
    connection.close()


def test_null_and_numbers_are_written_bare():
    assert [literal(None), literal(5), literal(1.5)] == ["NULL", "5", "1.5"]


def test_a_nul_character_is_refused():
    with pytest.raises(ValueError, match="NUL"):
        literal("a\0b")


def test_many_rows_become_one_insert():
    given_rows = rows("mysql_servers", *({"hostgroup_id": n, "hostname": "a"} for n in range(50)))
    assert len(list(inserts(SERVERS, given_rows.values()))) == 1


def test_a_statement_stays_below_a_megabyte():
    wide = rows("mysql_query_rules", *({"rule_id": n, "comment": "x" * 9000} for n in range(300)))
    statements = list(inserts(layout("mysql_query_rules"), wide.values()))
    assert len(statements) == 3
    assert all(len(statement.sql) < 1_100_000 for statement in statements)


def test_an_update_names_only_what_changes():
    before, after = (
        row("mysql_servers", hostgroup_id=1, hostname="a", weight=weight) for weight in (1, 2)
    )
    statement = update(SERVERS, SERVERS.key_of(before), before, after)
    assert statement.sql == (
        "UPDATE mysql_servers SET weight=2 WHERE hostgroup_id=1 AND hostname='a' AND port=3306"
    )


def test_a_password_is_masked_in_the_shown_text_only():
    users = layout("mysql_users")
    (statement,) = inserts(users, [row("mysql_users", username="u", password="s3cret")])
    assert "s3cret" in statement.sql
    assert "s3cret" not in statement.masked
    assert "'u'" in statement.masked


def test_a_secret_variable_is_masked_by_its_name():
    variables = layout("mysql_variables")
    secret = ("mysql-monitor_password", "s3cret")
    public = ("mysql-monitor_username", "watcher")
    (statement,) = inserts(variables, [secret, public])
    assert "s3cret" not in statement.masked
    assert "watcher" in statement.masked


def test_deletes_by_a_key_of_several_columns():
    (statement,) = deletes(SERVERS, [(1, "a", 3306), (1, "b", 3306)])
    assert statement.sql == (
        "DELETE FROM mysql_servers WHERE (hostgroup_id, hostname, port)"
        " IN (VALUES (1,'a',3306),(1,'b',3306))"
    )


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


def stored(connection, of) -> dict:
    found = connection.execute(f"SELECT * FROM {of.name}").fetchall()
    return {of.key_of(one): one for one in found}


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
        st.fixed_dictionaries({name: st.sampled_from(found) for name, found in ranges.items()}),
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
            connection.execute(create_table(of))
            for one in made:
                (statement,) = inserts(of, [row(table, **one, **TEXTS.get(table, {}))])
                connection.execute(statement.sql.replace("INSERT", "INSERT OR IGNORE", 1))
            return stored(connection, of)

    return of, state(), state()


def galera(*given_rows):
    """Rows of mysql_galera_hostgroups: writer, backup writer, reader and offline hostgroup."""
    return rows(
        GALERA.name, *(dict(zip(CELLS[GALERA.name], one, strict=True)) for one in given_rows)
    )


@settings(max_examples=300, deadline=None)
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
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(create_table(of))
        for statement in [*inserts(of, before.values()), *transition(of, before, after)]:
            connection.execute(statement.sql)
        assert stored(connection, of) == after


def test_rows_that_trade_a_unique_value_are_deleted_before_they_are_inserted():
    names = ("writer_hostgroup", "reader_hostgroup")
    before, after = (
        rows(REPLICATION.name, *(dict(zip(names, pair, strict=True)) for pair in pairs))
        for pairs in (((1, 2), (3, 4)), ((1, 4), (3, 2)))
    )
    verbs = [statement.sql.split()[0] for statement in transition(REPLICATION, before, after)]
    assert verbs == ["DELETE", "INSERT"]


def test_a_value_may_move_to_another_unique_column_by_update():
    before = galera((1, 2, 3, 4), (5, 6, 7, 8))
    after = galera((1, 2, 6, 4), (5, 6, 7, 8))
    (statement,) = transition(GALERA, before, after)
    assert statement.sql.startswith("UPDATE mysql_galera_hostgroups SET reader_hostgroup=6 WHERE")


def test_many_rows_are_no_reason_to_wait():
    before = rows("mysql_users", *({"username": f"u{n}"} for n in range(20_000)))
    after = {key: one for n, (key, one) in enumerate(before.items()) if n % 2}
    started = time.process_time()
    assert len(list(transition(layout("mysql_users"), before, after))) == 1
    assert time.process_time() - started < 2


def test_masking_any_statement_hides_every_text():
    assert mask_literals("SELECT 'a''b', 5, 'c'") == "SELECT '***', 5, '***'"
