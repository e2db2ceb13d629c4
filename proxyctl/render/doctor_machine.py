"""What the doctor found as JSON."""

from __future__ import annotations

import json

from proxyctl.doctor.examination import Examination
from proxyctl.doctor.finding import Severity
from proxyctl.doctor.fleet import ExaminedFleet
from proxyctl.render.plan_machine import failed_object

FORMAT = 1


def doctor_json(examination: Examination) -> str:
    """Return the findings as JSON. Shape: docs/reference/json-doctor.md."""
    return _written({"format": FORMAT, **_object(examination)})


def examined_fleet_json(fleet: ExaminedFleet) -> str:
    """Return the findings of many instances; `failed` lists those that could not be looked at."""
    return _written(
        {
            "format": FORMAT,
            "instances": [_object(one) for one in fleet.examined],
            "failed": [failed_object(one) for one in fleet.failed],
        }
    )


def _object(examination: Examination) -> dict[str, object]:
    return {
        "name": examination.name,
        "address": examination.address,
        "version": examination.version,
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


def _written(document: dict[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
