"""Old texts of an instance that secrets of the files replace: they are secrets as well. Pure."""

from __future__ import annotations

from collections.abc import Callable

from proxyctl.catalog import Role
from proxyctl.plan.survey import TableSurvey
from proxyctl.state.row import Key, Rows, Secret, with_secrets


def hide_old_secrets(survey: TableSurvey) -> None:
    """Make secrets of the texts that secrets of the files replace: a restore writes them again.

    Changes: survey.memory, survey.runtime, survey.disk.
    """
    if not (survey.memory or survey.runtime or survey.disk):
        return
    place = _place(survey)
    hidden: dict[object, frozenset[int]] = {}
    for differences in survey.changes.values():
        for difference in differences:
            desired = difference.desired
            if desired is None or Secret not in set(map(type, desired)):
                continue
            found = frozenset(
                position
                for position, cell in enumerate(desired)
                if isinstance(cell, Secret) and position not in survey.layout.key_index
            )
            if found:
                where = place(difference.key)
                hidden[where] = hidden.get(where, frozenset()) | found
    if not hidden:
        return

    def covered(rows: Rows) -> Rows:
        nothing: frozenset[int] = frozenset()
        return {
            key: with_secrets(row, hidden.get(place(key), nothing)) for key, row in rows.items()
        }

    survey.memory = covered(survey.memory)
    survey.runtime = None if survey.runtime is None else covered(survey.runtime)
    survey.disk = None if survey.disk is None else covered(survey.disk)


def _place(survey: TableSurvey) -> Callable[[Key], object]:
    """Return what stays the same of a key: halves of a user, nodes in other hostgroups."""
    if survey.place is not None:
        return survey.place
    if survey.layout.table.role is Role.USERS:
        return lambda key: key[0]
    return lambda key: key
