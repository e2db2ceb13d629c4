"""Join the two halves of a user, as RUNTIME holds them, into one row. Pure."""

from __future__ import annotations

from proxyctl.catalog import Layout, Role
from proxyctl.proxysql.compare import same_cell
from proxyctl.rows.row import Row, Rows


def fold_users(layout: Layout, rows: Rows) -> Rows:
    """Return user rows with the two halves of a user joined, if their other columns agree.

    Without halves, as in any other table, the rows are returned as they are. RUNTIME always holds
    halves, as does MEMORY after SAVE ... TO MEMORY: (u, backend 1, frontend 0) and (u, backend 0,
    frontend 1) mean the same as the row (u, 1, 1). Shape: keyed by (username, backend); a joined
    user has the key (username, 1).
    """
    if layout.table.role is not Role.USERS:
        return rows
    backend, frontend = layout.index["backend"], layout.index["frontend"]
    frontends = [key for key, row in rows.items() if row[backend] == 0 and row[frontend] == 1]
    if not frontends:
        return rows
    folded = dict(rows)
    for key in frontends:
        other = rows.get((key[0], 1))
        if other is None or other[frontend] != 0:
            continue
        joined = _joined(layout, other, rows[key])
        if joined is not None:
            folded[key[0], 1] = joined
            del folded[key]
    return folded


def _joined(layout: Layout, backend_half: Row, frontend_half: Row) -> Row | None:
    """Return the row of both halves; None if their other columns differ."""
    backend, frontend = layout.index["backend"], layout.index["frontend"]
    joined = (*backend_half[:frontend], 1, *backend_half[frontend + 1 :])
    # Most halves agree to the letter, and comparing tuples is fast.
    if joined != (*frontend_half[:backend], 1, *frontend_half[backend + 1 :]):
        for position, (left, right) in enumerate(zip(joined, frontend_half, strict=True)):
            if position in (frontend, backend) or left == right:
                continue
            if not same_cell(layout, position, left, right):
                return None
    return joined
