"""What the doctor found, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.examination import Examination
from proxyctl.doctor.finding import Finding, Severity
from proxyctl.errors import counted
from proxyctl.render.style import PLAIN, Style, printable

_COLOURS = {Severity.ERROR: "refuse", Severity.WARNING: "change", Severity.INFO: "dim"}


def doctor_text(examination: Examination, style: Style = PLAIN) -> str:
    """Return the findings, a block each; one line where there is none."""
    facts = examination.facts
    name = f"{printable(facts.name)}  " if facts.name != facts.address else ""
    head = f"{name}{printable(facts.address)}  ProxySQL {printable(facts.version_text)}"
    if not examination.findings:
        return f"{head}: nothing is wrong{_ignored(examination)}\n"
    lines = [style("bold", head)]
    for finding in examination.findings:
        lines += ["", *_block(finding, style)]
    return "\n".join([*lines, "", _summary(examination), ""])


def _block(finding: Finding, style: Style) -> Iterator[str]:
    severity = style(_COLOURS[finding.severity], str(finding.severity))
    yield f"{severity}  {printable(finding.where)}  ({finding.code})"
    yield f"  {printable(finding.message)}"
    yield f"  way out: {printable(finding.way_out)}"


def _summary(examination: Examination) -> str:
    counts = examination.counts
    nouns = {Severity.INFO: "remark"}
    parts = [counted(counts[s], nouns.get(s, str(s))) for s in Severity if counts[s]]
    return f"{', '.join(parts)}{_ignored(examination)}."


def _ignored(examination: Examination) -> str:
    return f", {examination.ignored} ignored" if examination.ignored else ""
