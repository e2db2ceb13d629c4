"""PX001 unused-ignore."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.lint.check import UNUSED_IGNORE, check
from proxyctl.lint.finding import Finding, Severity
from proxyctl.lint.subject import LintSubject


@check(UNUSED_IGNORE, "unused-ignore", Severity.NOTE)
def unused_ignore(subject: LintSubject) -> Iterable[Finding]:  # noqa: ARG001 - `run` finds these
    """An entry of `lint: ignore:` that ignores nothing.

    The mistake that the entry was written for is gone, or the entry never matched it. A leftover
    entry hides the next mistake of this kind. It is reported only if the check it names has run.

    Remove the entry.

    ```yaml
    # Bad: rule 10 has no such finding any more.
    lint:
      ignore:
        - {code: PX201, table: mysql_query_rules, key: 10}
    ```
    """
    return ()
