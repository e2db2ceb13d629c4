"""Rows that come from elsewhere as a file that is accepted."""

import re

from proxyctl.catalog import REFERENCE, TABLES, Column, Deviations
from proxyctl.config.project import mistakes_in
from proxyctl.errors import Mistake
from proxyctl.formats.exported import exported_text
from proxyctl.formats.yaml import places_in
from proxyctl.state.fold import Exported
from tests.support.build import layout, row

RULES, USERS = "mysql_query_rules", "mysql_users"


def written(exported: Exported) -> str:
    return exported_text(
        exported,
        "yaml",
        "clear",
        check=lambda text: mistakes_in(text, exported.version, exported.deviations),
    )


def exported_rows(table, *given, of=None):
    exported = Exported(REFERENCE)
    exported.layouts[table] = of or layout(table)
    exported.tables[table] = [row(table, **one) for one in given]
    return exported


def test_only_one_of_two_rows_that_cannot_stand_together_is_left_out():
    table = "mysql_galera_hostgroups"
    hostgroups = ("writer", "backup_writer", "reader", "offline")
    given = [
        {f"{role}_hostgroup": first + n for n, role in enumerate(hostgroups)} for first in (1, 4)
    ]
    exported = exported_rows(table, *given)
    assert "  - {writer_hostgroup: 1," in written(exported)
    assert list(exported.left_out[table]) == [(4,)]


def test_a_column_that_only_the_instance_knows_is_written():
    colour = Column("colour", "VARCHAR", default="red", kept=True, is_listed=False)
    deviations = Deviations(frozenset({(RULES, colour)}))
    newer = deviations.layout_of(TABLES[RULES], REFERENCE)
    exported = Exported(REFERENCE, {RULES: newer}, deviations)
    exported.tables[RULES] = [
        (*row(RULES, rule_id=1), "red"),
        (*row(RULES, rule_id=2), "blue"),
    ]
    assert re.findall("colour: .*(?=})", written(exported)) == ["colour: blue"]
    assert exported.warnings == [
        "rule 2: colour: proxyctl does not know this column; plan and apply take it at"
        " an instance that has it, validate refuses it"
    ]


def test_json_that_is_not_utf8_is_left_out():
    exported = exported_rows(USERS, {"username": "u", "attributes": '["\udce9"]'})
    assert "mysql_users" not in written(exported)
    assert "JSON is UTF-8 text" in exported.warnings[0]


def test_a_mistake_of_the_whole_file_is_a_warning():
    exported = exported_rows(RULES, {"rule_id": 1})
    exported_text(exported, "yaml", "clear", check=lambda _: [Mistake("", 1, 1, "", "odd")])
    assert exported.warnings == ["the file will be refused: odd"]


def test_a_large_table_is_left_to_validate():
    exported = exported_rows(RULES, {"rule_id": 1, "match_digest": "(("})
    exported.layouts[USERS] = layout(USERS)
    exported.tables[USERS] = [row(USERS, username=f"u{n}") for n in range(20_001)]
    checked = []

    def check(text):
        checked.append(text)
        return mistakes_in(text, REFERENCE)

    text = exported_text(exported, "yaml", "clear", check=check)
    assert text.count("{username: ") == 20_001
    assert "#   - {rule_id: 1, match_digest: '(('}" in text
    assert USERS not in checked[0]


def test_the_lines_of_a_document_are_found_again():
    text = (
        "# x:\nversion: 1\n\nvariables:\n  # mysql-a: 1\n  mysql-b: 2\n\n"
        "mysql_users:\n  - {username: a}\n  - {username: 'mysql_servers:'}\n\n"
        "# left out\n#   - {id: 1}\nscheduler:\n  - {id: 2}\n"
    )
    found = places_in(text)
    assert found[6] == ("variables", "mysql-b")
    assert [found[n] for n in (9, 10, 15)] == [(USERS, 0), (USERS, 1), ("scheduler", 0)]
