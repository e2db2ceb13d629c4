"""Passwords and values from references in a written file: hashed, left out, or in clear text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from proxyctl.catalog import Layout, Role
from proxyctl.interchange.content import FileContent
from proxyctl.state.passwords import hashed_password
from proxyctl.state.row import KEEP, DesiredRow, Row, Secret, row_name
from proxyctl.state.sql import is_secret


def with_secrets(
    content: FileContent, layout: Layout, rows: Iterable[DesiredRow], secrets: str
) -> list[DesiredRow]:
    """Return rows with their secrets as hashes, or unchanged for `clear`.

    Clear text becomes a native hash for MySQL, and is left out for PostgreSQL: there a hash works
    only if the backend stores the same kind. A secret in another column, such as a second password
    in the attributes of a user, is left out as well. Changes: content.warnings.
    """
    if secrets != "hash" or not _may_hold_secrets(layout):
        return list(rows)
    return [_with_hashes(content, layout, row) for row in rows]


def _with_hashes(content: FileContent, layout: Layout, row: DesiredRow) -> DesiredRow:
    """Return the row with a hash instead of its password. Changes: content.warnings."""
    cells = list(row)
    for position, cell in enumerate(row):
        if not isinstance(cell, str) or not is_secret(layout, position, cast("Row", row)):
            continue
        name = layout.columns[position].name
        hashed = hashed_password(layout.name, cell) if name == "password" else None
        cells[position] = KEEP if hashed is None else hashed
        if hashed is None:
            why = (
                "the password is in clear text, and no hash of it is safe to use; write"
                " `password: {env: NAME}`"
                if name == "password"
                else "it holds a password; --secrets clear writes it"
            )
            content.warnings.append(f"{_named(layout, row)}: {name} is left out: {why}")
    return tuple(cells)


def _named(layout: Layout, row: DesiredRow) -> str:
    return row_name(layout.name, layout.key_of(cast("Row", row)))


def without_secrets(layout: Layout, rows: list[DesiredRow]) -> list[DesiredRow]:
    """Return the rows without their secret columns."""
    if not _may_hold_secrets(layout):
        return rows
    secret = {n for n, column in enumerate(layout.columns) if column.secret}
    return [
        tuple(
            KEEP if n in secret or is_secret(layout, n, cast("Row", row)) else cell
            for n, cell in enumerate(row)
        )
        for row in rows
    ]


def _may_hold_secrets(layout: Layout) -> bool:
    """Return whether rows of this table may hold secrets that came by no reference."""
    return layout.table.role is Role.USERS or any(column.secret for column in layout.columns)


def without_references(
    content: FileContent, layout: Layout, rows: Iterable[DesiredRow]
) -> list[DesiredRow]:
    """Return rows of files without values from references, except keys and passwords.

    Changes: content.warnings.
    """
    result: list[DesiredRow] = []
    for row in rows:
        cells = list(row)
        for position, (column, cell) in enumerate(zip(layout.columns, row, strict=True)):
            if isinstance(cell, Secret) and position not in layout.key_index and not column.secret:
                cells[position] = KEEP
                content.warnings.append(
                    f"{_named(layout, row)}: {column.name} is left out: it came from a reference;"
                    " --secrets clear writes it"
                )
        result.append(tuple(cells))
    return result


def environment_name(variable: str) -> str:
    """Return the environment variable that an export proposes for a secret."""
    return variable.upper().replace("-", "_")
