"""What a plan only counts of lint: findings that were there before, and checks that did not run."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.errors import counted
from proxyctl.plan.plan import MOST_LINTED_ROWS, MOST_LINTED_RULES, Plan


def lint_counts(plan: Plan) -> Iterator[str]:
    """Yield how many findings were there before, and how many checks of lint did not run."""
    option = "--host" if plan.name == plan.address else "--instance"
    if plan.known_findings:
        count = counted(plan.known_findings, "finding")
        verb = "was" if plan.known_findings == 1 else "were"
        yield f"{count} {verb} there before: see proxyctl lint {option} ..."
    if plan.skipped_checks:
        checks = counted(len(plan.skipped_checks), "check")
        command = f"proxyctl lint {option} ..." if plan.is_in_sync else "proxyctl lint"
        yield (
            f"{checks} did not run: there are more than {MOST_LINTED_RULES:,} rules or"
            f" {MOST_LINTED_ROWS:,} rows; run {command}"
        )
