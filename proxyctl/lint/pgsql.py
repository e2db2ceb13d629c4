"""The PostgreSQL side under lint: which checks hold there, and what they find under its names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from proxyctl.catalog.releases import PGSQL_DIGESTS
from proxyctl.lint.check import RULES, Check, Finding
from proxyctl.lint.subject import FAST_ROUTING, Subject
from proxyctl.routing.pgsql import pgsql_as_mysql, pgsql_name

ON_PGSQL = frozenset(
    (
        *("PX101", "PX103", "PX104", "PX105", "PX106", "PX120", "PX121", "PX122", "PX123"),
        *("PX201", "PX202", "PX204", "PX205", "PX208", "PX210", "PX213"),
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
        for found in one.find(side) if one.code in on_pgsql else ():
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
