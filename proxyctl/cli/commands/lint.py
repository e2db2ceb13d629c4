"""The command lint: mistakes in a configuration that ProxySQL accepts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from proxyctl.cli.completion import check_names
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import choice, flag, value
from proxyctl.cli.options import LayerOption, VersionOption
from proxyctl.cli.output import emit, style, write
from proxyctl.errors import ConfigError, ExitCode, UsageError
from proxyctl.rows.row import Layer

if TYPE_CHECKING:
    from proxyctl.lint.check import Check

LintFormat = Literal["text", "json", "sarif", "github"]


def lint(
    selection: SelectionOptions,
    select: list[str] | None = value(
        "CODE",
        "Run only these checks: a code, its beginning, or a name.",
        autocompletion=check_names,
    ),
    ignore: list[str] | None = value(
        "CODE", "Leave out these checks; same form as --select.", autocompletion=check_names
    ),
    backend_version: list[str] | None = value(
        "X.Y.Z",
        "The version of a server behind ProxySQL, to compare with"
        " mysql-server_version; repeatable.",
    ),
    strict: bool = flag("--strict", "Exit 1 for any finding, not only for an error."),
    layer: LayerOption = None,
    explain: str | None = value(
        "CODE", "Show what a check finds, and the fix.", autocompletion=check_names
    ),
    list_: bool = flag("--list", "List the checks."),
    proxysql_version: VersionOption = None,
    format: Annotated[LintFormat, choice(LintFormat)] = "text",
) -> int:
    """Find rules that never match, misrouting and other mistakes. Exit 1 for an error."""
    from proxyctl import api
    from proxyctl.render.lint import LINT, check_text, lint_github, lint_text
    from proxyctl.render.sarif import lint_sarif

    checks = _checks([explain] if explain is not None else select or (), ignore or ())
    if explain is not None:
        write("\n".join(map(check_text, checks)))
        return ExitCode.DONE
    if list_:
        return _list_checks(checks, format)
    _check_versions(backend_version or ())
    examined = selection.examined(layer)
    try:
        report = api.lint(
            examined,
            checks,
            Layer(layer or "runtime"),
            version=proxysql_version,
            backend_versions=backend_version or (),
        )
    except ConfigError as error:
        write(_mistakes(error, format))
        raise
    source = selection.files.paths()[0] if examined.login is None else ""
    emit(
        format,
        text=lambda: lint_text(report, style()),
        json=lambda: LINT.document(report),
        sarif=lambda: lint_sarif(report, Path.cwd(), source),
        github=lambda: lint_github(report),
    )
    fails = bool(report.findings) if strict else report.has_errors
    return ExitCode.ERROR if fails else ExitCode.DONE


def _checks(select: Sequence[str], ignore: Sequence[str]) -> list[Check]:
    """Return the selected checks without the ignored ones. Raises: UsageError."""
    from proxyctl.config.mistakes import did_you_mean
    from proxyctl.lint.check import UnknownCode, chosen

    try:
        return chosen(select, ignore)
    except UnknownCode as unknown:
        raise UsageError(str(unknown), fix=unknown.fix(did_you_mean)) from unknown


def _list_checks(checks: Sequence[Check], format: LintFormat) -> int:
    """Write what each check finds. Raises: UsageError."""
    from proxyctl.render.lint import CHECKS, checks_text

    if format not in ("text", "json"):
        raise UsageError(f"--list cannot be written as {format}", fix="use --format text or json")
    emit(
        format,
        text=lambda: checks_text(checks, style()),
        json=lambda: CHECKS.document(checks),
    )
    return ExitCode.DONE


def _check_versions(versions: Sequence[str]) -> None:
    """Refuse what is no version of a server. Raises: UsageError."""
    from proxyctl.catalog.releases import version_numbers

    for version in versions:
        if version_numbers(version) is None:
            raise UsageError(
                f"--backend-version {version!r} is not a version", fix="write it as 8.0.36"
            )


def _mistakes(error: ConfigError, format: LintFormat) -> str:
    """Return the mistakes as SARIF or GitHub annotations; in other formats the error lists them."""
    from proxyctl.render.lint import mistakes_github
    from proxyctl.render.sarif import mistakes_sarif

    if format == "sarif":
        return mistakes_sarif(error.mistakes, Path.cwd())
    return mistakes_github(error.mistakes) if format == "github" else ""
