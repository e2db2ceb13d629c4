"""What the doctor found as JSON."""

from __future__ import annotations

import json

from proxyctl.doctor.examination import Examination
from proxyctl.doctor.finding import Severity

FORMAT = 1


def doctor_json(examination: Examination) -> str:
    """Return the findings as JSON. Shape: docs/reference/json-doctor.md."""
    facts = examination.facts
    document = {
        "format": FORMAT,
        "name": facts.name,
        "address": facts.address,
        "version": facts.version_text,
        "healthy": not examination.has_errors,
        "counts": {str(one): examination.counts[one] for one in Severity},
        "ignored": examination.ignored,
        "findings": [
            {
                "code": finding.code,
                "severity": str(finding.severity),
                "where": finding.where,
                "message": finding.message,
                "way_out": finding.way_out,
            }
            for finding in examination.findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
