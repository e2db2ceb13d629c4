"""Check an upgrade: every chapter of findings, in the order in which to act on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from proxyctl.errors import Mistake, ProxyctlError
from proxyctl.routing.dialect import MYSQL, PGSQL
from proxyctl.routing.router import digester_of
from proxyctl.rows.row import Where
from proxyctl.upgrade import release_changes, routing
from proxyctl.upgrade.finding import CODES, Moment, Reliance, UpgradeFinding, UpgradeReport
from proxyctl.upgrade.subject import UpgradeSubject
from proxyctl.upgrade.tables import tables
from proxyctl.upgrade.variables import variables

Chapter = Callable[[UpgradeSubject], Iterator[UpgradeFinding]]

CHAPTERS: tuple[Chapter, ...] = (
    release_changes.direction,
    release_changes.restart,
    release_changes.cluster,
    variables,
    tables,
    release_changes.known_changes,
    release_changes.security,
    release_changes.new,
)
ROUTING: tuple[Chapter, ...] = (
    routing.rules,
    routing.digests,
    routing.introduced_by_lint,
    routing.routing_tests,
    routing.seen_digests,
)
"""The chapters that route queries under both releases."""


def check_upgrade(subject: UpgradeSubject) -> UpgradeReport:
    """Return what the upgrade changes. An instance that runs the release has no finding."""
    is_there = subject.version == subject.to
    findings = [] if is_there else [*_findings(subject)]
    order, moments = [*CODES], [*Moment]
    findings.sort(
        key=lambda finding: (moments.index(finding.kind.moment), order.index(finding.code))
    )
    return UpgradeReport(
        subject.name,
        subject.address,
        subject.version_text or str(subject.version),
        subject.to,
        tuple(findings),
        is_there=is_there,
    )


def _findings(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    found = [finding for chapter in CHAPTERS for finding in chapter(subject)]
    if reason := _obstacle(subject):
        found.append(
            UpgradeFinding(
                "routing-not-compared",
                "queries",
                f"queries were not routed under both releases: {reason}",
                "correct the variable, then check again",
            )
        )
    else:
        found += [finding for chapter in ROUTING for finding in chapter(subject)]
    yield from found
    places = {
        reliance.where[:2] for finding in found for reliance in finding.relies_on if reliance.where
    }
    for mistake in subject.mistakes:
        if (mistake.path, mistake.line) not in places:
            yield _of_files(mistake)


def _obstacle(subject: UpgradeSubject) -> str | None:
    """Return why one of the releases makes no digests with these variables, or None."""
    try:
        for side, dialect in product((subject.before, subject.after), (MYSQL, PGSQL)):
            digester_of(side, dialect)
    except ProxyctlError as error:
        return str(error)
    return None


def _of_files(mistake: Mistake) -> UpgradeFinding:
    where = Where(mistake.path, mistake.line, mistake.column)
    return UpgradeFinding(
        "files-refused",
        mistake.key or "files",
        mistake.message,
        mistake.fix or "change the files together with the upgrade",
        (Reliance("the files", where),),
    )
