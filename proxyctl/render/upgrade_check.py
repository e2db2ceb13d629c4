"""What an upgrade changes, as one page for each instance and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.finding import listed
from proxyctl.render.encode import INSTANCE, Shape
from proxyctl.render.fleet import FAILED, alike_text, counts_line, failures
from proxyctl.render.style import PLAIN, Style, listed_names, named_address
from proxyctl.text import counted, printable
from proxyctl.upgrade.finding import (
    Moment,
    Reliance,
    UpgradeFinding,
    UpgradeOfFleet,
    UpgradeReport,
)

MOST_RELIANCES = 10
"""Rows listed per finding; further rows are counted. JSON has all."""

_HEADINGS = {
    Moment.BEFORE: "Before the upgrade",
    Moment.AFTER: "After the upgrade",
    Moment.NEVER: "Worth knowing",
}


def upgrades_text(fleet: UpgradeOfFleet, style: Style = PLAIN, *, is_all: bool) -> str:
    """Return the findings, in the order in which to act on them.

    `is_all`: render a fleet: the same findings of several instances once, then the instances that
    could not be read, and the counts.
    """
    if not is_all:
        report = fleet.only()
        return _page(_name(report), report, style)
    groups: dict[object, list[UpgradeReport]] = {}
    for report in fleet.reports:
        groups.setdefault((report.version, report.is_there, report.findings), []).append(report)
    pages = []
    for group in groups.values():
        head = _name(group[0])
        if len(group) > 1:
            names = [report.name for report in group]
            head = f"{alike_text(names, group[0].version)} -> {group[0].to}"
        pages.append(_page(head, group[0], style))
    return "\n".join([*pages, *failures(fleet.failed, style), _summary(fleet) + "\n"])


def _name(report: UpgradeReport) -> str:
    subject = named_address(report.name, report.address) if report.address else "files"
    return f"{subject}  ProxySQL {printable(report.version)} -> {report.to}"


def _summary(fleet: UpgradeOfFleet) -> str:
    """Return the counts of instances that need decisions, with names."""
    deciding = [report.name for report in fleet.reports if report.decisions]
    there = [report.name for report in fleet.reports if report.is_there]
    ready = [report.name for report in fleet.reports if not (report.decisions or report.is_there)]
    parts = [
        f"{len(names)} {words}: {listed_names(names)}"
        for words, names in (
            ("with decisions", deciding),
            ("without decisions", ready),
            ("that already run the release", there),
        )
        if names
    ]
    return counts_line(len(fleet.reports), parts, fleet.failed)


def _page(head: str, report: UpgradeReport, style: Style) -> str:
    if report.is_there:
        if report.address:
            return f"{head}: it already runs this release\n"
        return f"files: they are already for {report.to}\n"
    if not report.findings:
        return f"{head}: nothing changes\n"
    lines = [style("bold", head)]
    for moment, heading in _HEADINGS.items():
        findings = [finding for finding in report.findings if finding.kind.moment is moment]
        if findings:
            lines += ["", style("bold", heading)]
        for finding in findings:
            lines += _lines(finding, style)
    return "\n".join([*lines, "", _verdict(report), ""])


def _verdict(report: UpgradeReport) -> str:
    if not report.decisions:
        return "Nothing needs a decision."
    verb = "needs" if report.decisions == 1 else "need"
    return f"{counted(report.decisions, 'finding')} {verb} a decision."


def _lines(finding: UpgradeFinding, style: Style) -> Iterator[str]:
    return style.finding(
        "decision" if finding.kind.needs_decision else "note",
        finding.subject,
        finding.code,
        finding.message,
        finding.fix or None,
        places=listed(finding.relies_on, MOST_RELIANCES),
        first="  ",
    )


def upgrades_json(fleet: UpgradeOfFleet, *, is_all: bool) -> str:
    """Return the findings. `is_all`: render a fleet: also the instances that could not be read."""
    return UPGRADES.document(fleet) if is_all else UPGRADE.document(fleet.only())


RELIANCE: Shape[Reliance] = Shape(
    "concerned row",
    "text where",
    where=lambda reliance: None if reliance.where is None else str(reliance.where),
)
FINDING: Shape[UpgradeFinding] = Shape(
    "finding of upgrade-check",
    "code when needs_decision subject message relies_on fix",
    when=lambda finding: str(finding.kind.moment),
    needs_decision=lambda finding: finding.kind.needs_decision,
    relies_on=lambda finding: RELIANCE.each(finding.relies_on),
    fix=lambda finding: finding.fix or None,
)
UPGRADE: Shape[UpgradeReport] = Shape(
    "upgrade-check",
    f"{INSTANCE} to is_there decisions findings",
    to=lambda report: str(report.to),
    findings=lambda report: FINDING.each(report.findings),
)
UPGRADES: Shape[UpgradeOfFleet] = Shape(
    "upgrade-check --all",
    "instances failed",
    instances=lambda fleet: UPGRADE.each(fleet.reports),
    failed=lambda fleet: FAILED.each(fleet.failed),
)
