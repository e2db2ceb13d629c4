"""What an apply did, for people and for machines."""

from __future__ import annotations

import json

from proxyctl.errors import counted
from proxyctl.plan import ADD, CHANGE, DELETE, Plan
from proxyctl.render.plan_machine import plan_object
from proxyctl.render.style import printable
from proxyctl.result import ApplyResult

FORMAT = 1


def apply_text(plan: Plan, result: ApplyResult | None) -> str:
    """Return the report; `result` None means that nothing had to be done."""
    if result is None:
        return ""
    counts = plan.counts()
    lines = [
        f"Applied to {printable(plan.name)}: {counts[ADD]} added, {counts[CHANGE]} changed,"
        f" {counts[DELETE]} deleted at RUNTIME."
        f" {counted(result.statements, 'statement')}, {result.loads} LOAD, {result.saves} SAVE;"
        " every layer was read back."
    ]
    if any(module.save for module in plan.modules) and not result.saves:
        lines.append("DISK was left alone: a restart of ProxySQL takes the change back.")
    lines += [f"note: {printable(note)}" for note in result.notes]
    lines += [f"restart required: {name}" for name in plan.restart_required]
    if result.snapshot:
        secrets = "without" if result.omits_secrets else "with"
        lines.append(f"The state before, {secrets} its passwords, is kept in {result.snapshot}")
    return "\n".join(lines) + "\n"


def apply_json(plan: Plan, result: ApplyResult | None) -> str:
    """Return the plan that was applied and what each layer holds now."""
    document = {
        "format": FORMAT,
        "applied": result is not None,
        "plan": plan_object(plan),
        "modules": [
            {"module": m.name, "memory": m.memory, "runtime": m.runtime, "disk": m.disk}
            for m in (result.modules if result else ())
        ],
        "statements": result.statements if result else 0,
        "notes": result.notes if result else [],
        "snapshot": result.snapshot if result else None,
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
