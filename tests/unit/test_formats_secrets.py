"""No form of an export shows a secret unless it was asked to, and no one changes it by accident."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyctl.catalog import TABLES, Layout, Version, layout_of
from proxyctl.catalog.variables import VARIABLES
from proxyctl.cli.commands.files import RowFormat, Secrets
from proxyctl.formats.exported import exported_text
from proxyctl.state.fold import Exported, export_variables, with_secrets
from proxyctl.state.row import KEEP

NEWEST = Version(3, 0, 0)
LAYOUTS = [
    layout_of(table, NEWEST)
    for table in TABLES.values()
    if table.prefix is None and any(column.secret for column in table.columns)
]
SECRET_VARIABLES = sorted(name for name, known in VARIABLES.items() if known.secret)

SECRET = "hunter2-topsecret"
secrets = st.sampled_from([SECRET, f"{SECRET}'", f'{SECRET}"', f"{SECRET}\n{SECRET}\r", None, ""])


def test_there_are_secrets() -> None:
    assert len(LAYOUTS) > 1
    assert len(SECRET_VARIABLES) > 3


def row_with(layout: Layout, secret: str | None) -> tuple[object, ...]:
    return tuple(
        secret if column.secret else "app" if column.name in layout.table.key else column.default
        for column in layout.columns
    )


@pytest.mark.parametrize("form", RowFormat)
@pytest.mark.parametrize("mode", [Secrets.HASH, Secrets.OMIT])
@given(secret=secrets)
def test_no_form_shows_a_secret(form: RowFormat, mode: Secrets, secret: str | None) -> None:
    exported = Exported(NEWEST)
    for layout in LAYOUTS:
        exported.layouts[layout.name] = layout
        rows = [row_with(layout, secret)]
        exported.tables[layout.name] = with_secrets(exported, layout, rows, mode.value)
    variables = [(name, secret) for name in (*SECRET_VARIABLES, "mysql-new_password")]
    export_variables(exported, variables, mode.value, keeps_defaults=True)
    text = exported_text(exported, form.value, mode.value)
    assert SECRET not in text
    assert SECRET not in "\n".join(exported.warnings)
    if mode is Secrets.OMIT:
        assert "*A" not in text


def users(password: object) -> Exported:
    layout = layout_of(TABLES["mysql_users"], Version(2, 7, 1))
    exported = Exported(Version(2, 7, 1))
    exported.layouts[layout.name] = layout
    row = row_with(layout, None)
    position = layout.index["password"]
    exported.tables[layout.name] = [(*row[:position], password, *row[position + 1 :])]  # type: ignore[list-item]
    return exported


def test_a_script_without_secrets_sets_none() -> None:
    script = exported_text(users("pw"), "sql", "omit")
    runs = [line for line in script.splitlines() if not line.startswith("-- ")]
    assert not [line for line in runs if "password" in line or "***" in line]
    assert any(line.startswith("UPDATE mysql_users SET active=") for line in runs)
    assert [line for line in script.splitlines() if "***" in line and "INSERT" in line]


def test_a_cnf_holds_no_user_whose_password_is_not_said() -> None:
    exported = users(KEEP)
    assert "username" not in exported_text(exported, "cnf", "hash")
    assert exported.warnings == [
        "not in the .cnf: user app: no password is set here, and without one anybody could log in"
    ]
