"""The SQL script: order of the statements, quoting, and no secret when it is masked."""

from __future__ import annotations

import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from proxyctl.catalog.ddl import create_table
from proxyctl.formats.sql_writer import write_script
from tests.build import layout, row

RULES = "mysql_query_rules"
FAST = "mysql_query_rules_fast_routing"


def test_a_whole_script() -> None:
    script = write_script(
        {
            "mysql_users": (
                layout("mysql_users"),
                [row("mysql_users", username="app", password="it's")],
            ),
            FAST: (
                layout(FAST),
                [row(FAST, username="u", schemaname="s", destination_hostgroup=1)],
            ),
            RULES: (layout(RULES), []),
        },
        {
            "admin-version": "2.7.1",
            "mysql-threads": "8",
            "mysql-monitor_password": "pw",
            "mysql-max_connections": "100",
        },
        header=["two\nlines"],
    )
    assert script == (
        "-- two lines\n"
        "UPDATE global_variables SET variable_value='pw'"
        " WHERE variable_name='mysql-monitor_password';\n"
        "UPDATE global_variables SET variable_value='100'"
        " WHERE variable_name='mysql-max_connections';\n"
        "DELETE FROM mysql_query_rules;\n"
        "DELETE FROM mysql_query_rules_fast_routing;\n"
        "INSERT INTO mysql_query_rules_fast_routing"
        " (username, schemaname, flagIN, destination_hostgroup, comment)"
        " VALUES ('u','s',0,1,'');\n"
        "DELETE FROM mysql_users;\n"
        "INSERT INTO mysql_users (username, password, active, use_ssl, default_hostgroup,"
        " default_schema, schema_locked, transaction_persistent, fast_forward, backend, frontend,"
        " max_connections, attributes, comment)"
        " VALUES ('app','it''s',1,0,0,NULL,0,1,0,1,1,10000,'','');\n"
        "LOAD MYSQL VARIABLES TO RUNTIME;\n"
        "LOAD MYSQL QUERY RULES TO RUNTIME;\n"
        "LOAD MYSQL USERS TO RUNTIME;\n"
        "UPDATE global_variables SET variable_value='8' WHERE variable_name='mysql-threads';\n"
        "SAVE MYSQL VARIABLES TO DISK;\n"
        "SAVE MYSQL QUERY RULES TO DISK;\n"
        "SAVE MYSQL USERS TO DISK;\n"
    )


def test_secrets_are_masked() -> None:
    tables = {
        "mysql_users": (
            layout("mysql_users"),
            [row("mysql_users", username="app", password="topsecret")],
        )
    }
    variables = {"admin-admin_credentials": "a:topsecret", "mysql-server_version": "8.0.36"}
    script = write_script(tables, variables, mask_secrets=True)
    assert "topsecret" not in script
    assert "'***'" in script
    assert "'8.0.36'" in script


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(st.lists(st.tuples(TEXT, st.none() | TEXT), max_size=5))
def test_rows_come_back(texts: list[tuple[str, str | None]]) -> None:
    rows = [
        row(RULES, rule_id=number, match_digest=match, comment=comment, OK_msg="")
        for number, (match, comment) in enumerate(texts)
    ]
    script = write_script({RULES: (layout(RULES), rows)}, {})
    database = sqlite3.connect(":memory:")
    database.execute(create_table(layout(RULES)))
    head, _, _ = script.partition("LOAD ")
    database.executescript(head)
    assert database.execute(f"SELECT * FROM {RULES} ORDER BY rule_id").fetchall() == rows
    database.close()
