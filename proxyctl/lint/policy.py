"""The policies of the files: house rules about rows and changes. Pure.

The files write a policy as an expression; `config` compiles it to a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from proxyctl.catalog import TABLES, Layout, layout_of
from proxyctl.lint.finding import Finding, Severity, cases_of
from proxyctl.proxysql.configuration import Configuration
from proxyctl.proxysql.user_halves import fold_users
from proxyctl.rows.row import SENSITIVE, Key, Row, Rows, Where
from proxyctl.rows.sql import is_secret

BROKEN_POLICY = "PX601"
"""The code of the check that reports rows and changes that break a policy."""

FOR_CHANGE = "change"
"""What a policy is for that judges the changes of a plan instead of the rows of a table."""

ROW_NAMES = ("row", "hostgroups")
"""The names that the expression of a policy for a table may use."""

CHANGE_NAMES = ("table", "action", "before", "after", "instance", "hostgroups")
"""The names that the expression of a policy for changes may use."""


class PolicyFailure(Exception):  # noqa: N818 - an answer; `judge` makes a finding of it
    """Why an expression has no answer for a row: a wrong type, a name that is not defined."""


@dataclass(frozen=True)
class Policy:
    """One policy."""

    name: str
    """The name, which is unique."""
    target: str
    """The table in the catalogue whose rows it judges, or FOR_CHANGE."""
    message: str
    """What a row or a change that breaks it is told."""
    severity: Severity
    """ERROR: a plan that breaks it is refused. WARNING: the plan only says so."""
    columns: tuple[str, ...]
    """The columns of the row that the expression reads; none of a policy for changes."""
    where: Where
    """The place of the expression in the files."""
    holds: Callable[[Mapping[str, object]], bool]
    """Returns whether the policy holds for the values of ROW_NAMES or CHANGE_NAMES. Raises:
    PolicyFailure."""


class HiddenCell:
    """A secret cell in an expression, which can only be compared with '' and NULL.

    Anything else would print the secret, or let it be guessed.
    """

    def __init__(self, column: str) -> None:
        self.column = column

    def refuse(self, *_: object) -> NoReturn:
        """Raises: PolicyFailure."""
        raise PolicyFailure(
            f"{self.column} is a secret here: a policy can only compare it with '' or none"
        )

    def __repr__(self) -> str:
        return SENSITIVE

    def __bool__(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return False if other is None or other == "" else self.refuse()

    __hash__ = __str__ = __len__ = __iter__ = __int__ = __float__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __getitem__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = refuse


def visible_cells(layout: Layout, row: Row, columns: Iterable[str]) -> dict[str, object]:
    """Return cells of a row by column, as an expression sees them: without secrets.

    A column that an instance lacks, though its release has it, is left out.
    """
    cells: dict[str, object] = {}
    for name in layout.index.keys() & columns:
        position = layout.index[name]
        is_hidden = row[position] != "" and is_secret(layout, position, row)
        cells[name] = HiddenCell(name) if is_hidden else row[position]
    return cells


def judge(policy: Policy, values: Mapping[str, object], table: str, key: Key) -> Finding | None:
    """Return the finding about a row, or a change of it; None if the policy holds.

    An expression without an answer is an error at the place of the policy.
    """
    try:
        if policy.holds(values):
            return None
    except PolicyFailure as failure:
        return Finding(
            table,
            key,
            f"policy {policy.name} cannot be evaluated: {failure}",
            fix=f"correct its expression at {policy.where}",
            where=policy.where,
            severity=Severity.ERROR,
        )
    what = "leave the change out" if policy.target == FOR_CHANGE else "correct the row"
    return Finding(
        table,
        key,
        f"{policy.message} (policy {policy.name})",
        fix=f"{what}, or correct the policy at {policy.where}",
        severity=policy.severity,
    )


def broken_by_rows(policies: Iterable[Policy], configuration: Configuration) -> Iterator[Finding]:
    """Yield a finding for each row that breaks a policy for its table.

    The case of a finding is the cells that the expression reads: with other cells it is a new one.
    """
    hostgroups = named_hostgroups(configuration.hostgroup_names)
    for policy in policies:
        if policy.target == FOR_CHANGE:
            continue
        layout, rows = _rows_of(policy.target, configuration)
        for key, row in rows.items():
            cells = visible_cells(layout, row, policy.columns)
            values = {"row": cells, "hostgroups": hostgroups}
            if finding := judge(policy, values, policy.target, key):
                read = [policy.name, *sorted(cells.items())]
                yield replace(finding, cases=cases_of(key, [read]))


def named_hostgroups(names: Mapping[int, str]) -> dict[str, int]:
    """Return the number of each hostgroup by its name in the files."""
    return {name: number for number, name in names.items()}


def _rows_of(name: str, configuration: Configuration) -> tuple[Layout, Rows]:
    """Return the rows of a table; a configuration keeps its variables apart from its tables."""
    table = TABLES[name]
    layout = layout_of(table, configuration.version)
    if table.prefix is None:
        held = configuration.tables.get(name)
        # Both halves of a user are one row of the files.
        return (held.layout, fold_users(held.layout, held.rows)) if held else (layout, {})
    variables = configuration.variables.items()
    rows: Rows = {(key,): (key, text) for key, text in variables if key.startswith(table.prefix)}
    return layout, rows
