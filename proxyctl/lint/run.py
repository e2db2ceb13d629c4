"""Runs checks over a configuration, leaves out what is ignored, and sorts the findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from proxyctl.catalog.releases import PGSQL_DIGESTS
from proxyctl.lint.check import RULES, UNUSED_IGNORE, Check, Finding, Severity
from proxyctl.lint.subject import FAST_ROUTING, Subject
from proxyctl.routing.sides import pgsql_as_mysql, pgsql_name
from proxyctl.state.row import Key, Where


@dataclass(frozen=True)
class Ignore:
    """Findings that are intended. `table` and `key` narrow it to one table, or to one row."""

    codes: frozenset[str]
    text: str
    where: Where
    table: str | None = None
    key: Key | None = None

    def takes(self, finding: Finding, key: Key) -> bool:
        """Return whether it is about this row of a finding."""
        if finding.code not in self.codes or self.table not in (None, finding.table):
            return False
        return self.key is None or _as_text(self.key) == _as_text(key[: len(self.key)])


def _as_text(key: Key) -> tuple[str, ...]:
    return tuple(map(str, key))


@dataclass(frozen=True)
class Placed:
    """A finding with its check, and where its row stands in the files (None: in no file).

    `others`: rows of other tables with the same cause.
    """

    finding: Finding
    check: Check
    where: Where | None
    others: tuple[Placed, ...] = ()

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return self.finding.severity or self.check.severity


@dataclass(frozen=True)
class Report:
    """What lint says about one configuration.

    Shape: `findings` by place; `ignored` counts those that the files ignore. `name` of an instance,
    empty for files. `checks` are those that ran.
    """

    findings: Sequence[Placed]
    checks: Sequence[Check]
    ignored: int = 0
    name: str = ""
    counts: Counter[Severity] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", Counter(one.severity for one in self.findings))

    @property
    def has_errors(self) -> bool:
        """Whether anything found is an error."""
        return self.counts[Severity.ERROR] > 0


def lint(
    subject: Subject, checks: Sequence[Check], ignores: Sequence[Ignore] = (), *, name: str = ""
) -> Report:
    """Return what the checks find. Raises: ProxyctlError as `Subject.router`."""
    used: set[int] = set()
    kept: list[Placed] = []
    ignored = 0
    place = subject.configuration.place
    of_mysql = ((one, found) for one in checks for found in one.findings(subject))
    for one, found in chain(of_mysql, pgsql_findings(subject, checks)):
        finding = _without_ignored(replace(found, code=one.code), ignores, used)
        if found.is_said:
            continue
        if finding is None:
            ignored += 1
            continue
        where = finding.where or place(finding.table, finding.key, finding.column)
        kept.append(Placed(finding, one, where))
    ran = {one.code: one for one in checks}
    if UNUSED_IGNORE in ran:
        idle = (one for number, one in enumerate(ignores) if number not in used)
        kept += _unused((one for one in idle if one.codes <= ran.keys()), ran[UNUSED_IGNORE])
    kept.sort(key=_order)
    return Report(_joined(kept), checks, ignored, name)


def _joined(findings: Iterable[Placed]) -> list[Placed]:
    """Return what is said of rows of several tables as one finding each, at the first place."""
    found: dict[object, Placed] = {}
    for number, one in enumerate(findings):
        cause = (one.finding.code, one.finding.message, one.finding.fix, one.severity)
        first = found.get(cause)
        if first is None:
            found[cause] = one
        elif one.finding.table in {other.finding.table for other in (first, *first.others)}:
            found[number] = one
        else:
            found[cause] = replace(first, others=(*first.others, one))
    return list(found.values())


def _without_ignored(finding: Finding, ignores: Sequence[Ignore], used: set[int]) -> Finding | None:
    """Return the finding without the rows that are ignored; None if none is left. Changes: used."""
    if not ignores:
        return finding
    left: list[Key] = []
    for key in (finding.key, *finding.also):
        taking = {number for number, one in enumerate(ignores) if one.takes(finding, key)}
        used |= taking
        if not taking:
            left.append(key)
    return replace(finding, key=left[0], also=tuple(left[1:])) if left else None


def _unused(ignores: Iterable[Ignore], by: Check) -> Iterator[Placed]:
    for ignore in ignores:
        message = f"{ignore.text} ignores nothing"
        finding = Finding("lint", (), message, fix="remove it", code=by.code)
        yield Placed(finding, by, ignore.where)


_Order = tuple[str, int, int, str, tuple[tuple[int, int, str], ...], str, str]


def _order(one: Placed) -> _Order:
    """Return by what findings are sorted: their place, or else their row."""
    path, line, column = one.where[:3] if one.where else ("", 0, 0)
    key = tuple(
        (0, part, "") if isinstance(part, int) else (1, 0, str(part)) for part in one.finding.key
    )
    finding = one.finding
    return path, line, column, finding.table, key, finding.code, finding.message


# The PostgreSQL side: which checks hold there, and what they find under its names ----------------

ON_PGSQL = frozenset(
    (
        *("PX101", "PX103", "PX104", "PX105", "PX106", "PX120", "PX121", "PX122", "PX123"),
        *("PX201", "PX202", "PX204", "PX205", "PX208", "PX210"),
        *("PX301", "PX311", "PX313", "PX401", "PX413", "PX421", "PX424", "PX425"),
    )
)
"""Checks of rules, fast routing and their destinations that ask nothing of MySQL's SQL, and locking
reads, which both have."""
_DIGEST_TEXTS = "PX104"

_OUR_NAMES = re.compile(
    r"\bmysql(?=-[a-z]+_|_(?:query_rules|users|servers|replication_hostgroups))|\bschemaname\b"
)


def pgsql_findings(subject: Subject, checks: Iterable[Check]) -> Iterator[tuple[Check, Finding]]:
    """Yield what the checks find on the PostgreSQL side, if there are rules."""
    held = subject.configuration
    if not any(True for name in (RULES, FAST_ROUTING) for _ in held.rows(pgsql_name(name))):
        return
    side = Subject(pgsql_as_mysql(held))
    on_pgsql = ON_PGSQL - ({_DIGEST_TEXTS} if held.version >= PGSQL_DIGESTS else set())
    for one in checks:
        for found in one.findings(side) if one.code in on_pgsql else ():
            yield one, _named(found)


def _named(finding: Finding) -> Finding:
    """Return a finding under the names of the PostgreSQL side."""
    rename = partial(_OUR_NAMES.sub, lambda name: pgsql_name(name[0]))
    return replace(
        finding,
        table=pgsql_name(finding.table),
        column=finding.column and pgsql_name(finding.column),
        message=rename(finding.message).replace(" in schema ", " in database "),
        fix=finding.fix and rename(finding.fix),
    )
