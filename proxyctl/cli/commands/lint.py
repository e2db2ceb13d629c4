"""The command lint: mistakes in a configuration that ProxySQL accepts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from proxyctl.cli.completion import check_names
from proxyctl.cli.connect import Selection
from proxyctl.cli.option import choice, flag, value
from proxyctl.cli.options import LayerName, LayerOption, VersionOption
from proxyctl.cli.output import style, write
from proxyctl.errors import ConfigError, ExitCode, ProxyctlError, UsageError
from proxyctl.rows.row import Layer, Secret

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.config.sections.instances import Instance
    from proxyctl.lint.run import Ignore, LintReport
    from proxyctl.lint.subject import LintSubject


LintFormat = Literal["text", "json", "sarif", "github"]


def lint(
    selection: Selection,
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
    """Find rules that never match or misroute queries, and other mistakes. Exit 1 for an error."""
    from proxyctl.config.mistakes import did_you_mean
    from proxyctl.lint.check import UNUSED_IGNORE, UnknownCode, chosen
    from proxyctl.lint.run import lint as run
    from proxyctl.render.lint import CHECKS, check_text, checks_text

    try:
        checks = chosen([explain] if explain is not None else select or (), ignore or ())
    except UnknownCode as unknown:
        raise UsageError(str(unknown), fix=unknown.fix(did_you_mean)) from unknown
    if explain is not None:
        write("\n".join(map(check_text, checks)))
        return ExitCode.DONE
    if list_:
        if format not in ("text", "json"):
            raise UsageError(f"--list cannot be written as {format}", fix="it has text and json")
        write(checks_text(checks, style()) if format == "text" else CHECKS.document(checks))
        return ExitCode.DONE
    try:
        subject, ignores, name = _subject(selection, layer, proxysql_version, backend_version or ())
    except ConfigError as error:
        write(_mistakes(error, format))
        raise
    if name:
        # The files may ignore findings about rows that this instance does not have.
        checks = [check for check in checks if check.code != UNUSED_IGNORE]
    try:
        report = run(subject, checks, ignores, name=name)
    except ValueError as error:
        # Some values of the digest variables crash ProxySQL itself.
        raise ProxyctlError(str(error)) from error
    write(_output(report, format, "" if name else selection.files.paths()[0]))
    fails = bool(report.findings) if strict else report.has_errors
    return ExitCode.ERROR if fails else ExitCode.DONE


def _subject(
    selection: Selection,
    layer: LayerName | None,
    version: Version | None,
    backend_versions: Sequence[str],
) -> tuple[LintSubject, Sequence[Ignore], str]:
    """Return the rows to check, the findings to ignore, and the instance's name ('' for files)."""
    from proxyctl.catalog.releases import version_numbers
    from proxyctl.config.project import load_project
    from proxyctl.instance.read import read_configuration
    from proxyctl.lint.subject import LintSubject

    for backend in backend_versions:
        if version_numbers(backend) is None:
            raise UsageError(f"--backend-version {backend!r} is no version", fix="such as 8.0.36")
    if not selection.asks_instance(layer):
        project = load_project(
            selection.files.sources(), version=version, takes_dead_rules=True, needs_secrets=False
        )
        plain = {
            instance.name: instance.where for instance in project.instances if _is_plain(instance)
        }
        subject = LintSubject(
            project.configuration, backend_versions=backend_versions, plain_passwords=plain
        )
        return subject, project.ignores, ""
    target = selection.target(files_are_optional=True)
    with target.connect() as client:
        configuration = read_configuration(client, Layer(layer or "runtime"))
    subject = LintSubject(selection.with_files(configuration), backend_versions=backend_versions)
    return subject, target.files.ignores(), target.name


def _is_plain(instance: Instance) -> bool:
    """Return whether the file holds the password itself, not a reference to it."""
    try:
        password = instance.password()
    except ConfigError:
        return False
    return bool(password) and not isinstance(password, Secret)


def _mistakes(error: ConfigError, format: LintFormat) -> str:
    """Return the mistakes as SARIF or GitHub annotations; in other formats the error lists them."""
    from proxyctl.render.lint import mistakes_github
    from proxyctl.render.sarif import mistakes_sarif

    if format == "sarif":
        return mistakes_sarif(error.mistakes, Path.cwd())
    return mistakes_github(error.mistakes) if format == "github" else ""


def _output(report: LintReport, format: LintFormat, source: str) -> str:
    from proxyctl.render.lint import LINT, lint_github, lint_text
    from proxyctl.render.sarif import lint_sarif

    writers = {
        "text": lambda: lint_text(report, style()),
        "json": lambda: LINT.document(report),
        "sarif": lambda: lint_sarif(report, Path.cwd(), source),
        "github": lambda: lint_github(report),
    }
    return writers[format]()
