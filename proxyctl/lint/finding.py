"""A finding: what is wrong with a row, how bad it is, and the words for it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from proxyctl.routing.criteria import Effect
from proxyctl.rows.row import Key, Secret, Where
from proxyctl.text import counted

if TYPE_CHECKING:
    from proxyctl.routing.reach import Session

_LONGEST_TEXT = 60
_MOST_LISTED = 5


class Severity(StrEnum):
    """How bad a finding is: an error does harm or has no effect; a warning may be intended."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


SEVERITIES = {
    Effect.NEVER: Severity.ERROR,
    Effect.HARDLY_EVER: Severity.ERROR,
    Effect.EVERYTHING: Severity.ERROR,
    Effect.MISREAD: Severity.ERROR,
    Effect.DOUBTFUL: Severity.WARNING,
}
"""How bad a criterion is that does not work."""


class Case(NamedTuple):
    """One of the things that a finding about a row is about: a query, a table, a hostgroup."""

    text: str
    """The thing, as text."""
    session: Session | None = None
    """The session in which lint tried a query."""


Cases = Set[Case] | Set[Key]


@dataclass(frozen=True)
class Finding:
    """One mistake, in a row or in one column of it."""

    table: str
    """The table in the catalogue; `mysql_variables` for a variable, whose key is its name."""
    key: Key
    """The values of the primary key."""
    message: str
    """What is wrong."""
    column: str | None = None
    """The column; None: the whole row."""
    fix: str | None = None
    """How to fix it."""
    where: Where | None = None
    """The place, if the configuration does not know it."""
    severity: Severity | None = None
    """How bad it is; None: as the check says."""
    also: tuple[Key, ...] = ()
    """The other rows of the table with the same cause."""
    is_superseded: bool = False
    """Whether a graver finding already covers the row, so that this one is not shown; an `ignore`
    of it still counts as used."""
    code: str = ""
    """The code of its check, such as `PX201`; the run fills it in."""
    cases: Mapping[Key, Cases] = field(default_factory=dict, compare=False, repr=False)
    """What the finding is about, by row, also as keys of other rows; none for a row that is all
    that it is about. A change makes a finding worse that gets more."""

    @property
    def text(self) -> str:
        """The message with the other rows that it is about."""
        if not self.also:
            return self.message
        noun = _NOUNS.get(self.table.partition("_")[2])
        if noun is not None:
            return f"{self.message} (also {listed([key[0] for key in self.also], noun)})"
        return f"{self.message} (also {counted(len(self.also), 'more row')})"


def quoted(text: str) -> str:
    """Return a text between backticks, cut if it is long; a secret is not shown."""
    if isinstance(text, Secret):
        return "(sensitive)"
    return f"`{text if len(text) <= _LONGEST_TEXT else text[:_LONGEST_TEXT] + '...'}`"


_NOUNS = {"query_rules": "rule", "users": "user"}
"""By table without its side: the noun for rows that are named by the first column of their key."""


def listed(names: Sequence[object], noun: str = "rule") -> str:
    """Return `rule 5`, or `rules 5, 7 and 12 more`."""
    if len(names) == 1:
        return f"{noun} {names[0]}"
    shown = ", ".join(map(str, names[:_MOST_LISTED]))
    hidden = len(names) - _MOST_LISTED
    return f"{noun}s {shown} and {hidden} more" if hidden > 0 else f"{noun}s {shown}"


def grouped(findings: Iterable[Finding]) -> Iterable[Finding]:
    """Merge findings with the same table, column, message and fix into one, with all their rows.

    One cause is one finding; the rows are the places to correct.
    """
    by_cause: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        cause = (finding.table, finding.column, finding.message, finding.fix, finding.severity)
        by_cause.setdefault(cause, []).append(finding)
    for first, *repeated in by_cause.values():
        also = (*first.also, *(finding.key for finding in repeated))
        cases = dict(ChainMap(*(dict(finding.cases) for finding in (first, *repeated))))
        yield replace(first, also=also, cases=cases)


def cases_of(key: Key, things: Iterable[object]) -> dict[Key, Cases]:
    """Return the cases of a finding about one row."""
    return {key: {Case(str(thing)) for thing in things}}
