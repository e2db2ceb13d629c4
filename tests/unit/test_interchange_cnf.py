"""Writing a proxysql.cnf: it reads back as the same rows; unwritable values are reported."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.interchange.cnf_writer import write_cnf
from proxyctl.interchange.content import FileContent
from proxyctl.rows.row import Row
from tests.support.build import layout, row

RULES, PGSQL_RULES = "mysql_query_rules", "pgsql_query_rules"


def read(text: str) -> FileContent:
    return read_cnf(text, "p.cnf").content


# Texts that a .cnf carries: no quote of the kind that loses the row. Ends of pieces matter, so
# backslashes and escapes are frequent.
CARRIED = st.one_of(
    st.text("\\nxtrfd4 1é\n\t.*^$", max_size=10),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\"'"), max_size=15),
    st.binary(max_size=6).map(
        lambda b: b.translate(None, b"\0\"'").decode("utf-8", "surrogateescape")
    ),
)


@st.composite
def rules(draw: st.DrawFn) -> list[Row]:
    return [
        row(
            RULES,
            rule_id=number,
            active=draw(st.integers(0, 1)),
            username=draw(st.none() | CARRIED),
            match_pattern=draw(CARRIED),
            replace_pattern=draw(st.none() | CARRIED),
            re_modifiers=draw(CARRIED),
            error_msg=draw(st.none() | CARRIED.map(lambda text: text + "'")),
            destination_hostgroup=draw(st.none() | st.integers(0, 2**31 - 1)),
            apply=draw(st.integers(0, 1)),
            comment=draw(st.none() | CARRIED.map(lambda text: text + '"')),
        )
        for number in range(draw(st.integers(1, 4)))
    ]


@example([row("mysql_query_rules", rule_id=1, comment="\U0010ff80\U0010fffd\udc80")], [])
@given(rules(), st.lists(st.tuples(CARRIED, CARRIED), max_size=3, unique_by=lambda pair: pair[0]))
def test_rows_come_back(some: list[Row], accounts: list[tuple[str, str]]) -> None:
    users = [
        row("mysql_users", username=name, password=word + '"', default_schema=word, comment="'")
        for name, word in accounts
    ]
    text, notes = write_cnf(
        {RULES: (layout(RULES), some), "mysql_users": (layout("mysql_users"), users)}, {}
    )
    assert notes == []
    back = read(text)
    assert back.tables[RULES] == some
    assert back.tables.get("mysql_users", []) == users


def test_what_an_instance_may_hold_and_a_cnf_cannot() -> None:
    rows = [row(RULES, rule_id=3, timeout=3_000_000_000), row(RULES, rule_id=4, delay=-1)]
    variables = {"admin-version": "2.7.1", "mysql-init_connect": "(null)", "sqliteserver-x": "1"}
    postgresql = (layout(PGSQL_RULES), [row(PGSQL_RULES, rule_id=5, delay=-1)])
    tables = {RULES: (layout(RULES), rows), PGSQL_RULES: postgresql}
    assert write_cnf(tables, variables)[1] == [
        "sqliteserver-x: a .cnf cannot hold this variable",
        "rule 3: timeout: a number beyond 32 bits is ignored",
        "rule 4: delay: a negative number is ignored",
        "pgsql rule 5: delay: a negative number is ignored",
    ]
