"""Shows what is about to be applied, and asks once for each different plan."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from proxyctl.cli.output import is_terminal, says_yes, style, write
from proxyctl.errors import InstanceError, ProxyctlError, RefusedError, UsageError

if TYPE_CHECKING:
    from proxyctl.fleet.outcome import Failed, Fleet, Planned
    from proxyctl.plan.plan import Plan


def show(found: Plan) -> None:
    """Write a plan that is about to be applied."""
    from proxyctl.render.plan_text import plan_text

    write(plan_text(found, style(), is_done=True))


def approval(
    is_automatic: bool, plan: Callable[[], Plan], tell: Callable[[str], None], verb: str = "apply"
) -> Callable[[Plan], bool]:
    """Return what tells whether a plan is the one that was approved; ask where nobody did yet."""
    if is_automatic:
        return lambda _plan: True
    shown = plan()
    approve_one(shown, tell, verb)
    return lambda found: found.fingerprint == shown.fingerprint


def approve_one(found: Plan, tell: Callable[[str], None], verb: str = "apply") -> None:
    """Show the plan of one instance, and ask. Raises: RefusedError, UsageError."""
    from proxyctl.plan.plan import raise_refusals
    from proxyctl.render.plan_text import plan_text

    tell(plan_text(found, style()))
    raise_refusals(found)
    if not found.is_in_sync:
        hint = "; plan --out and apply PLANFILE apply what was reviewed" if verb == "apply" else ""
        _ask([found.name], verb, hint)


def approve_all(
    found: Fleet, tell: Callable[[str], None], *, is_automatic: bool, skips: bool
) -> None:
    """Show the plans of all instances, and ask once for each different one.

    `skips`: instances that cannot be read are left out. Raises: RefusedError when a plan is refused
    or not approved, InstanceError or ProxyctlError when there is one without a plan, UsageError.
    """
    from proxyctl.render.fleet_text import fleet_text

    tell(fleet_text(found, style()))
    _refuse(found)
    _stop_for_unread(found, skips=skips)
    if found.alike and not is_automatic:
        _ask([_names(alike) for alike in found.alike], "apply")


def _refuse(found: Fleet) -> None:
    """Refuse all where one plan is refused. Raises: RefusedError."""
    reasons = [
        f"{_names(alike)}: {refusal.message}"
        + (f"   allow with {refusal.allow}" if refusal.allow else "")
        for alike in found.alike
        for refusal in alike[0].plan.refusals
    ]
    if reasons:
        raise RefusedError("no instance was changed", reasons=reasons)


def _stop_for_unread(found: Fleet, *, skips: bool) -> None:
    """Stop where an instance has no plan. `skips`: those that only could not be read are left out.

    Raises: InstanceError where none but such are without one, else ProxyctlError.
    """
    wrong = [one for one in found.failed if not isinstance(one.error, InstanceError)]
    if wrong:
        raise ProxyctlError(f"no instance was changed: there is no plan for {_names(wrong)}")
    if found.failed and not skips:
        raise InstanceError(
            f"no instance was changed: {_names(found.failed)} could not be read",
            hint="--skip-unreachable changes the others, and ends with 4",
        )


def _ask(names: Sequence[str], verb: str, more_hint: str = "") -> None:
    """Ask on the terminal for each of these. Only `yes` goes on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError(
            f"{verb} asks before it acts, and there is no terminal to ask on",
            hint=f"--auto-approve applies without asking{more_hint}",
        )
    for name in names:
        if not says_yes(f"Apply this to {name}?"):
            raise RefusedError("not applied: the answer was not 'yes'")


def _names(listed: Sequence[Planned | Failed]) -> str:
    from proxyctl.render.fleet_text import names

    return names(listed)
