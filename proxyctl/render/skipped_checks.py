"""What a plan only counts of lint: findings that were there before, and checks that did not run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from os.path import normpath

from proxyctl.config.sources import Sources
from proxyctl.instance.connect import Login
from proxyctl.plan.plan import MOST_LINTED_ROWS, MOST_LINTED_RULES, Plan
from proxyctl.text import counted, printable


def lint_counts(plan: Plan) -> Iterator[str]:
    """Yield how many findings were there before, and how many checks of lint did not run."""
    if plan.known_findings:
        count = counted(plan.known_findings, "finding")
        verb = "was" if plan.known_findings == 1 else "were"
        yield f"{count} {verb} there before: see {_lint_of_instance(plan)}"
    if plan.skipped_checks:
        checks = counted(len(plan.skipped_checks), "check")
        command = _lint_of_instance(plan) if plan.is_in_sync else "proxyctl lint"
        yield (
            f"{checks} did not run: there are more than {MOST_LINTED_RULES:,} rules or"
            f" {MOST_LINTED_ROWS:,} rows; run {command}"
        )


def _lint_of_instance(plan: Plan) -> str:
    """Return the command that lists the findings in what the instance holds."""
    host, _, port = plan.address.rpartition(":")
    needs_files = plan.paths != Sources().paths
    if plan.name != plan.address:
        words = ["--instance", plan.name]
    elif host == Login.host and not plan.lists_instances:
        words = ["--port", port]
    else:
        words = ["--host", host, "--port", port] if port.isdecimal() else ["--socket", plan.address]
        needs_files = True  # otherwise lint does not take the files for those of this address
    if needs_files:
        words += [word for path in plan.paths for word in ("-f", normpath(path))]
    return printable(shlex.join(["proxyctl", "lint", *words]))
