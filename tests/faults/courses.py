"""The ways that an apply can take by itself, at whose every statement a fault is tried."""

from __future__ import annotations

from dataclasses import dataclass

from tests.faults.change import AFTER
from tests.faults.kinds import error
from tests.faults.proxy import Fault

_REFUSED = "  mysql-eventslog_filename: /no/such/folder/events\n"
"""A variable that RUNTIME does not take, without a word."""


@dataclass(frozen=True)
class Course:
    """One way of an apply.

    `files`: what it applies. `first`: the statement at which the course begins, and what goes wrong
    there already; faults are tried behind it.
    """

    name: str
    files: str = AFTER
    first: tuple[str, Fault] | None = None
    begins_at: str = ""


COURSES = (
    Course("apply"),
    Course("put back: a SAVE fails", first=("SAVE ADMIN VARIABLES TO DISK", error)),
    Course(
        "put back: RUNTIME refuses",
        files=AFTER.replace("variables:\n", f"variables:\n{_REFUSED}"),
        begins_at="LOAD MYSQL VARIABLES TO RUNTIME",
    ),
)
