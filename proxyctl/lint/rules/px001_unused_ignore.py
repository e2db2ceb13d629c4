"""PX001 unused-ignore."""

from __future__ import annotations

from collections.abc import Iterable

from proxyctl.lint.all_checks import UNUSED_IGNORE
from proxyctl.lint.finding import Finding, Severity, check
from proxyctl.lint.subject import Subject


@check(UNUSED_IGNORE, "unused-ignore", Severity.NOTE)
def unused_ignore(subject: Subject) -> Iterable[Finding]:  # noqa: ARG001 - made while linting
    """An entry of `lint: ignore:` that ignores nothing.

    What it was written for is gone, or it never was about the row that it names. Left in the file,
    it hides the next mistake of this kind.

    Remove the entry. It is only said if the check it names has run.

    ```yaml
    # Bad: rule 10 has no such finding any more.
    lint:
      ignore:
        - {code: PX201, table: mysql_query_rules, key: 10}
    ```
    """
    return ()
