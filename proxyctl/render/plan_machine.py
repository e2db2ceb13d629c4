"""The plan as JSON (stable, versioned), as markdown for a pull request, and as SQL to read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from proxyctl.catalog import Value
from proxyctl.errors import counted
from proxyctl.plan import ADD, CHANGE, DELETE, Change, ModulePlan, Plan
from proxyctl.render.plan_text import summary
from proxyctl.render.rows import field_text, headline, listed_fields, note
from proxyctl.render.style import printable
from proxyctl.sql import Statement

FORMAT = 1


def plan_json(plans: Iterable[Plan]) -> str:
    """Return the plans as JSON. Shape: docs/reference/json.md; `format` rises with its meaning."""
    document = {"format": FORMAT, "instances": [plan_object(plan) for plan in plans]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def plan_object(plan: Plan) -> dict[str, object]:
    """Return one plan as plain data."""
    return {
        "name": plan.name,
        "address": plan.address,
        "version": plan.version,
        "in_sync": plan.is_in_sync,
        "modules": [
            {
                "module": module.name,
                "load": module.load,
                "save": module.save,
                "changes": [_change_object(change) for change in module.changes],
            }
            for module in plan.modules
        ],
        "refusals": [
            {"code": r.code, "message": r.message, "allow": r.allow} for r in plan.refusals
        ],
        "left_alone": plan.left_alone,
        "warnings": plan.warnings,
        "restart_required": plan.restart_required,
        "fingerprint": plan.fingerprint,
    }


def _change_object(change: Change) -> dict[str, object]:
    fields: dict[str, object] = {}
    for field in change.fields:
        sides: dict[str, Value | bool] = {"current": field.current, "desired": field.desired}
        if field.is_secret:
            sides = {"current": None, "desired": None, "sensitive": True}
        fields[field.column] = sides
    where = change.where
    return {
        "table": change.table,
        "key": list(change.key),
        "action": change.action,
        "layers": [layer.value for layer in change.layers],
        "fields": fields,
        "where": str(where) if where else None,
        "origin": where.origin or None if where else None,
    }


def plan_markdown(plans: Iterable[Plan]) -> str:
    """Return the plans as markdown, with a diff block an admin module."""
    return "\n".join(line for plan in plans for line in _markdown_lines(plan)) + "\n"


def _markdown_lines(plan: Plan) -> Iterator[str]:
    yield f"### proxyctl plan: {_inline(plan.name)} (ProxySQL {_inline(plan.version)})"
    yield ""
    if plan.is_in_sync:
        yield "No changes: MEMORY, RUNTIME and DISK hold what the files say."
        yield ""
        return
    yield f"**{summary(plan)}**"
    yield ""
    for refusal in plan.refusals:
        allow = f" (allow with `{refusal.allow}`)" if refusal.allow else ""
        yield f"- :no_entry: {_inline(refusal.message)}{allow}"
    for remark in (*plan.warnings, *(f"{n}: restart required" for n in plan.restart_required)):
        yield f"- :warning: {_inline(remark)}"
    if plan.left_alone:
        yield f"- left alone: {_inline('; '.join(plan.left_alone))}"
    if plan.refusals or plan.warnings or plan.restart_required or plan.left_alone:
        yield ""
    for module in plan.modules:
        if module.changes or module.does_something:
            yield from _markdown_module(plan, module)


def _markdown_module(plan: Plan, module: ModulePlan) -> Iterator[str]:
    taken = (("LOAD", module.load), ("SAVE", module.save))
    steps = " and ".join(step for step, is_taken in taken if is_taken) or "MEMORY only"
    rows = counted(len(module.changes), "row")
    yield f"<details open><summary>{module.name}: {rows}, {steps}</summary>"
    yield ""
    yield "```diff"
    for change in module.changes:
        yield from _diff_lines(plan, change)
    yield "```"
    yield ""
    yield "</details>"
    yield ""


def _diff_lines(plan: Plan, change: Change) -> Iterator[str]:
    mark = {ADD: "+", DELETE: "-", CHANGE: "!"}[change.action]
    names = plan.hostgroup_names
    beside = note(change)
    yield f"{mark} {_fenced(headline(change, names))}{f'  ({beside})' if beside else ''}"
    for field in listed_fields(change):
        yield f"{mark}     {field.column}: {_fenced(field_text(change, field, names))}"


def _fenced(text: str) -> str:
    """A row must not be able to close the code block."""
    return printable(text).replace("```", "'''")


def _inline(text: str) -> str:
    escaped = printable(text)
    for character in "\\`*_<>[]|":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped


def plan_sql(plans: Iterable[Plan]) -> str:
    """Return the statements of an apply, to be read. Secrets are masked, so they cannot be run."""
    return "\n".join(line for plan in plans for line in _sql_lines(plan)) + "\n"


def _sql_lines(plan: Plan) -> Iterator[str]:
    yield f"-- {printable(plan.name)}: what apply would send, in order; secrets are masked"
    modules = [module for module in plan.modules if module.does_something]
    if not modules:
        yield "-- nothing"
    for module in modules:
        yield from _statements(module.staging())
    later: list[ModulePlan] = []
    for module in modules:
        if module.images:
            yield f"{module.module.load};"
            later += [module] * (len(module.images) > 1)
        if module.name == "MYSQL USERS":
            yield from _second_loads(later)
            later = []
    yield from _second_loads(later)
    for module in modules:
        if module.images:
            yield from _statements(module.transition(module.images[-1], module.final))
    for module in modules:
        if module.save:
            yield f"{module.module.save};"


def _second_loads(modules: Iterable[ModulePlan]) -> Iterator[str]:
    for module in modules:
        yield "-- nothing routes to the servers that leave any more"
        yield from _statements(module.transition(*module.images))
        yield f"{module.module.load};"


def _statements(statements: Iterable[Statement]) -> Iterator[str]:
    for statement in statements:
        yield _CONTROL.sub(_spelled, statement.masked) + ";"


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")


def _spelled(found: re.Match[str]) -> str:
    """Spell control characters, which stand in literals only, so that a terminal ignores them."""
    return f"'||char({','.join(str(ord(character)) for character in found[0])})||'"
