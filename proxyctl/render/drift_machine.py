"""Drift as JSON: the plan that would end it, with the pattern of each difference."""

from __future__ import annotations

import json

from proxyctl.fleet.outcome import Fleet
from proxyctl.plan.change import Change
from proxyctl.plan.drift import pattern_of
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.plan_machine import (
    FORMAT,
    change_objects,
    failed_object,
    field_objects,
    module_object,
    plan_object,
)


def drift_json(plan: Plan) -> str:
    """Return the drift as JSON. Shape: docs/reference/json.md; that of a plan, with patterns."""
    document = {"format": FORMAT, "instances": [_instance_object(plan)]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def fleet_drift_json(fleet: Fleet) -> str:
    """Return the drift of many instances as JSON: `failed` lists those that could not be read."""
    document = {
        "format": FORMAT,
        "instances": [_instance_object(one.own_plan) for one in fleet.planned],
        "failed": [failed_object(one) for one in fleet.failed],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _instance_object(plan: Plan) -> dict[str, object]:
    return {**plan_object(plan), "modules": [_module_object(plan, one) for one in plan.modules]}


def _module_object(plan: Plan, module: ModulePlan) -> dict[str, object]:
    changes = [
        {
            **as_object,
            "elsewhere": [*map(_other_object, change.elsewhere)],
            "pattern": pattern_of(change).name,
        }
        for change, as_object in zip(
            module.changes, change_objects(plan, module, module.changes), strict=True
        )
    ]
    return {**module_object(plan, module), "changes": changes}


def _other_object(other: Change) -> dict[str, object]:
    """Return what layers hold besides the one that `fields` is about."""
    return {
        "layers": [layer.value for layer in other.layers],
        "action": other.action,
        "fields": field_objects(other),
    }
