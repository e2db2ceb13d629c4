"""The pages of lint's checks: a table of all, and a page for each with its examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from docs import markdown, notes
from proxyctl.lint.check import Check, all_checks

FOLDER = "lint"
"""Where the pages of the checks are. A page is named by the code, which never changes."""
_IGNORE = "ignore-what-is-intended"


def lint_pages() -> dict[str, Iterable[str]]:
    """Return the lines of each page, by its path."""
    checks = all_checks().values()
    return {
        f"{FOLDER}.md": _overview(checks),
        **{f"{FOLDER}/{check.code.lower()}.md": _page(check) for check in checks},
    }


def _overview(checks: Iterable[Check]) -> Iterator[str]:
    yield from markdown.head("Lint", notes.LINT)
    yield from markdown.table(
        ("code", "severity", "what it finds"),
        (
            (
                f"[{check.code} {check.name}]({FOLDER}/{check.code.lower()}.md)",
                str(check.severity),
                check.summary,
            )
            for check in checks
        ),
    )


def _page(check: Check) -> Iterator[str]:
    summary, _, rest = check.documentation.partition("\n\n")
    yield from markdown.head(f"{check.code} {check.name}", summary)
    also = " It also holds for the `pgsql_*` tables." if check.pgsql else ""
    size = " A plan of any size runs it." if check.any_size else ""
    yield f"Severity: {check.severity}.{also}{size}"
    yield ""
    yield rest
    yield ""
    yield f"`proxyctl lint --explain {check.code}` shows this page in the terminal."
    yield f"To leave a finding out: [ignore what is intended](../../how-to/lint.md#{_IGNORE})."
