"""The command test: run the routing tests of the files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.files import VersionOption, chosen_version
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import style, write, write_file
from proxyctl.errors import ExitCode, ProxyctlError

if TYPE_CHECKING:
    from proxyctl.routing.explain import Explainer
    from proxyctl.routing.tests import RoutingTest


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    command(app, "test")(run_tests)


def run_tests(
    files: FileOptions,
    connection: ConnectionOptions,
    only: Annotated[
        str | None,
        typer.Option("-k", metavar="TEXT", help="Only tests whose name or query holds this."),
    ] = None,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="Name the rules that no test reaches.")
    ] = False,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="Write a JUnit report as well.")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="A line for each test.")] = False,
    proxysql_version: VersionOption = None,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Run the routing_tests of the files; exit 1 if one fails.

    The files' own rules are asked; with --host, --port, --socket or --instance those that this
    instance runs with.
    """
    from proxyctl.render.routing_tests_machine import junit_xml, routing_tests_json
    from proxyctl.render.routing_tests_text import coverage_text, routing_tests_text
    from proxyctl.routing.tests import run, unreached

    begun = time.monotonic()
    tests, explainer = _prepared(files, connection, proxysql_version)
    if not tests:
        raise ProxyctlError("the files have no routing_tests", hint="add a section `routing_tests`")
    chosen = [one for one in tests if only is None or only in (one.name or "") or only in one.query]
    if not chosen:
        raise ProxyctlError(f"-k {only}: no test has this in its name or its query")
    results = list(run(chosen, explainer))
    left = unreached(results, explainer) if coverage else None
    if format is TextFormat.JSON:
        write(routing_tests_json(results, left))
    else:
        write(routing_tests_text(results, is_verbose=verbose, style=style()))
        if left is not None:
            write("\n" + coverage_text(left, explainer, style()))
    if junit:
        write_file(Path(junit), junit_xml(results, time.monotonic() - begun))
    return ExitCode.DONE if all(result.passed for result in results) else ExitCode.ERROR


def _prepared(
    files: FileOptions, connection: ConnectionOptions, proxysql_version: str | None
) -> tuple[tuple[RoutingTest, ...], Explainer]:
    """Return the tests of the files, and what answers them."""
    from dataclasses import replace

    from proxyctl.cli.subject import is_about_instance, subject_of
    from proxyctl.config.project import load_project
    from proxyctl.routing.explain import TABLES, Explainer

    version = chosen_version(proxysql_version)
    is_live = is_about_instance(files, connection)
    project = load_project(
        files.sources(), version=version, takes_dead_rules=is_live, needs_secrets=False
    )
    if not is_live:
        return project.routing_tests, Explainer(project.configuration)
    subject = subject_of(files, connection, version=version, tables=TABLES)
    named = replace(subject.configuration, hostgroup_names=project.desired.hostgroup_names)
    return project.routing_tests, Explainer(named, is_placed=True)
