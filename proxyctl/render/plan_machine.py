"""The plan as JSON: stable, versioned, for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from proxyctl.fleet.outcome import Failed, Fleet
from proxyctl.plan.change import Change
from proxyctl.plan.notes import entering_servers
from proxyctl.plan.plan import ModulePlan, Plan
from proxyctl.render.rows import remark

FORMAT = 1


def plan_json(plans: Iterable[Plan]) -> str:
    """Return the plans as JSON. Shape: docs/reference/json.md; `format` rises with its meaning."""
    document = {"format": FORMAT, "instances": [plan_object(plan) for plan in plans]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def fleet_json(fleet: Fleet) -> str:
    """Return the plans of many instances as JSON: `failed` lists those that have none."""
    document = {
        "format": FORMAT,
        "instances": [*_planned_objects(fleet)],
        "failed": [failed_object(one) for one in fleet.failed],
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _planned_objects(fleet: Fleet) -> Iterator[dict[str, object]]:
    made: dict[int, dict[str, object]] = {}
    for one in fleet.planned:
        shared = made.get(id(one.plan))
        if shared is None:
            shared = made[id(one.plan)] = plan_object(one.plan)
        own = {"name": one.name, "address": one.address, "fingerprint": one.fingerprint}
        yield {**shared, **own}


def failed_object(failed: Failed) -> dict[str, object]:
    """Return an instance without a plan as plain data."""
    error = failed.error
    return {
        "name": failed.name,
        "address": failed.address,
        "error": "\n".join(error.lines()),
        "exit_code": int(error.exit_code),
    }


def plan_object(plan: Plan) -> dict[str, object]:
    """Return one plan as plain data."""
    return {
        "name": plan.name,
        "address": plan.address,
        "version": plan.version,
        "in_sync": plan.is_in_sync,
        "modules": [module_object(plan, module) for module in plan.modules],
        "refusals": [
            {"code": r.code, "message": r.message, "allow": r.allow, "details": list(r.details)}
            for r in plan.refusals
        ],
        "shard_moves": [move._asdict() for move in plan.shard_moves],
        "cluster_members": plan.members,
        "left_alone": plan.left_alone,
        "warnings": plan.warnings,
        "restart_required": plan.restart_required,
        "fingerprint": plan.fingerprint,
    }


def module_object(plan: Plan, module: ModulePlan) -> dict[str, object]:
    """Return one admin module of a plan as plain data."""
    return {
        "module": module.name,
        "load": module.load,
        "save": module.save,
        "changes": change_objects(plan, module, module.changes),
    }


def change_objects(
    plan: Plan, module: ModulePlan, changes: Iterable[Change]
) -> list[dict[str, object]]:
    """Return changes of a module as plain data."""
    entering = entering_servers(module, plan.families)
    names = plan.hostgroup_names
    return [_change_object(c, remark(c, entering, names)) for c in changes]


def _change_object(change: Change, aside: str) -> dict[str, object]:
    where = change.where
    fields = field_objects(change)
    for other in change.further:
        layers = [layer.value for layer in other.layers]
        for column, sides in field_objects(other).items():
            fields.setdefault(column, {**sides, "layers": layers})
    return {
        "table": change.table,
        "key": list(change.key),
        "action": change.action,
        "layers": [layer.value for layer in change.layers],
        "fields": fields,
        "where": str(where) if where else None,
        "origin": where.origin or None if where else None,
        "remark": aside or None,
    }


def field_objects(change: Change) -> dict[str, dict[str, object]]:
    """Return what differs by column as plain data. Secrets carry no values."""
    fields: dict[str, dict[str, object]] = {}
    for field in change.fields:
        sides: dict[str, object] = {"current": field.current, "desired": field.desired}
        if field.is_secret:
            sides = {"current": None, "desired": None, "sensitive": True}
        fields[field.column] = sides
    return fields
