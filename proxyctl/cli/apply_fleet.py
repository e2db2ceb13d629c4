"""apply --all: every instance of the files, after one approval for each different plan."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from proxyctl.cli.fleet import FleetOptions, RolloutOptions, planned_fleet
from proxyctl.cli.options import TextFormat
from proxyctl.cli.output import is_terminal, say, says_yes, style, write, write_beside
from proxyctl.errors import (
    ApplyError,
    InstanceError,
    InterruptedApplyError,
    ProxyctlError,
    RefusedError,
    UsageError,
    said_of,
)

if TYPE_CHECKING:
    from proxyctl.applying import ApplyRequest
    from proxyctl.fleet.outcome import Fleet, Planned
    from proxyctl.fleet.rollout import Rollout
    from proxyctl.fleet_planning import Target


def apply_all(
    targets: Sequence[Target],
    request: ApplyRequest,
    fleet: FleetOptions,
    rollout: RolloutOptions,
    format: TextFormat,
    *,
    auto_approve: bool,
) -> int:
    """Plan all, ask, apply in batches, and say what became of each. Returns the exit code.

    Raises: RefusedError when a plan is refused or not approved, InstanceError or ProxyctlError when
    there is one without a plan: then no instance was changed.
    """
    from proxyctl.fleet_applying import RolloutRequest, apply_fleet
    from proxyctl.render.fleet_text import fleet_text
    from proxyctl.render.rollout_text import rollout_json, rollout_text

    is_text = format is TextFormat.TEXT
    found = planned_fleet(targets, request.options, fleet)
    (write if is_text else write_beside)(fleet_text(found, style()))
    _refuse(found)
    _stop_for_unread(found, skips=rollout.skip_unreachable)
    if found.alike and not auto_approve:
        _ask(found.alike)
    how = RolloutRequest(
        request,
        rollout.strategy,
        rollout.max_unavailable,
        fleet.parallel,
        rollout.settle,
        rollout.rollback_on_failure,
        rollout.skip_unreachable,
        say,
    )
    done = apply_fleet(targets, found, how)
    with _told(done):
        if not is_text:
            write(rollout_json(done))
        elif found.alike:
            write(rollout_text(done, style()))
    return done.exit_code


@contextmanager
def _told(done: Rollout) -> Iterator[None]:
    """Whatever hinders the report of instances that were changed: say what became of them."""
    from proxyctl.render.rollout_text import rollout_text

    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if not done.has_changed:
            raise
        kind = InterruptedApplyError if isinstance(error, KeyboardInterrupt) else ApplyError
        layers = rollout_text(done).splitlines()
        raise kind(f"changed, but then: {said_of(error)[0]}", layers=layers) from error


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
    from proxyctl.render.fleet_text import names

    wrong = [one for one in found.failed if not isinstance(one.error, InstanceError)]
    if wrong:
        raise ProxyctlError(f"no instance was changed: there is no plan for {names(wrong)}")
    if found.failed and not skips:
        raise InstanceError(
            f"no instance was changed: {names(found.failed)} could not be read",
            hint="--skip-unreachable changes the others, and ends with 4",
        )


def _ask(different: Sequence[Sequence[Planned]]) -> None:
    """Ask on the terminal, once for each different plan. Only `yes` goes on."""
    if not (is_terminal(sys.stdin) and is_terminal(sys.stderr)):
        raise UsageError(
            "apply asks before it acts, and there is no terminal to ask on",
            hint="--auto-approve applies without asking",
        )
    for alike in different:
        if not says_yes(f"Apply this to {_names(alike)}?"):
            raise RefusedError("not applied: the answer was not 'yes'")


def _names(alike: Sequence[Planned]) -> str:
    from proxyctl.render.fleet_text import names

    return names(alike)
