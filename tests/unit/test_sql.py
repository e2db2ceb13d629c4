"""Statements: few, plain, in an order that works, and masked when they are made."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.sql import deletes, inserts, literal, mask_literals, transition, update
from tests.build import layout, row, rows

SERVERS = layout("mysql_servers")
REPLICATION = layout("mysql_replication_hostgroups")


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


def test_rows_that_trade_a_unique_value_are_deleted_before_they_are_inserted():
    before = rows(
        "mysql_replication_hostgroups",
        {"writer_hostgroup": 1, "reader_hostgroup": 2},
        {"writer_hostgroup": 3, "reader_hostgroup": 4},
    )
    after = rows(
        "mysql_replication_hostgroups",
        {"writer_hostgroup": 1, "reader_hostgroup": 4},
        {"writer_hostgroup": 3, "reader_hostgroup": 2},
    )
    run = [statement.sql for statement in transition(REPLICATION, before, after)]
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE mysql_replication_hostgroups (writer_hostgroup INT PRIMARY KEY,"
            " reader_hostgroup INT UNIQUE, check_type, comment)"
        )
        for values in before.values():
            connection.execute("INSERT INTO mysql_replication_hostgroups VALUES (?,?,?,?)", values)
        for sql in run:
            connection.execute(sql)
        found = connection.execute("SELECT * FROM mysql_replication_hostgroups").fetchall()
    connection.close()
    assert set(found) == set(after.values())


def test_masking_any_statement_hides_every_text():
    assert mask_literals("SELECT 'a''b', 5, 'c'") == "SELECT '***', 5, '***'"
