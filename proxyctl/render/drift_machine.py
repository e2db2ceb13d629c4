"""Drift as JSON: the plan that would end it, and what has probably happened."""

from __future__ import annotations

import json

from proxyctl.change import Change
from proxyctl.drift import Drift
from proxyctl.fleet.outcome import DriftingFleet
from proxyctl.plan import ModulePlan
from proxyctl.render.plan_machine import (
    FORMAT,
    change_objects,
    failed_object,
    field_objects,
    module_object,
    plan_object,
)


def drift_json(drift: Drift) -> str:
    """Return the drift as JSON. Shape: docs/reference/json.md; that of a plan, with causes."""
    document = {"format": FORMAT, "instances": [_instance_object(drift)]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def drifting_fleet_json(fleet: DriftingFleet) -> str:
    """Return the drift of many instances as JSON: `failed` lists those that could not be read."""
    document = {
        "format": FORMAT,
        "instances": [_instance_object(drift) for drift in fleet.found],
        "failed": [failed_object(one) for one in fleet.failed],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _instance_object(drift: Drift) -> dict[str, object]:
    modules = [_module_object(drift, module) for module in drift.plan.modules]
    return {**plan_object(drift.plan), "modules": modules}


def _module_object(drift: Drift, module: ModulePlan) -> dict[str, object]:
    load = drift.evidence.loads.get(module.name)
    changes = [
        {
            **as_object,
            "elsewhere": [*map(_other_object, change.elsewhere)],
            "cause": drift.cause(module, change)._asdict(),
        }
        for change, as_object in zip(
            module.changes, change_objects(drift.plan, module, module.changes), strict=True
        )
    ]
    return {
        **module_object(drift.plan, module),
        "loaded": None if load is None else load.epoch,
        "changes": changes,
    }


def _other_object(other: Change) -> dict[str, object]:
    """Return what layers hold besides the one that `fields` is about."""
    return {
        "layers": [layer.value for layer in other.layers],
        "action": other.action,
        "fields": field_objects(other),
    }
