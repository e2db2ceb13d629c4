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

    `files`: what it applies. `behind`: faults are tried behind this statement only, at which
    `goes_wrong` happens each time.
    """

    name: str
    files: str = AFTER
    behind: str | None = None
    goes_wrong: Fault | None = None


COURSES = (
    Course("apply"),
    Course("put back: a SAVE fails", behind="SAVE ADMIN VARIABLES TO DISK", goes_wrong=error),
    Course(
        "put back: RUNTIME refuses",
        files=AFTER.replace("variables:\n", f"variables:\n{_REFUSED}"),
        behind="LOAD MYSQL VARIABLES TO RUNTIME",
    ),
)
