"""What shell completion offers for the values of options. A mistake on the way offers nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TypeVar

import typer

from proxyctl.errors import ProxyctlError

T = TypeVar("T")


def module_names(incomplete: str) -> list[str]:
    """Return the admin modules and tables for --only.

    A hyphen stands for the blank in the name of a module: bash would insert the blank unquoted.
    """
    from proxyctl.catalog import ADMIN_MODULES, TABLES

    modules = [name if " " in incomplete else name.replace(" ", "-") for name in ADMIN_MODULES]
    return _starting(incomplete, [*modules, *(n for n, one in TABLES.items() if not one.prefix)])


def instance_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the instances of the files."""
    from proxyctl.cli.options import FileOptions
    from proxyctl.config.project import ParsedFiles

    try:
        instances = ParsedFiles(_typed(FileOptions, context).sources()).instances()
    except ProxyctlError:
        return []
    return _starting(incomplete, (one.name for one in instances))


def snapshot_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the snapshots of the instance, newest first."""
    from proxyctl.cli.connect import Place
    from proxyctl.cli.options import ConnectionOptions, FileOptions
    from proxyctl.snapshots.folder import history

    try:
        place = Place(_typed(FileOptions, context), _typed(ConnectionOptions, context))
        return _starting(incomplete, (kept.name for kept in history(place.address())))
    except ProxyctlError:
        return []


def node_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the servers of the files, with the port where it is another one than 3306."""
    from proxyctl.cli.options import FileOptions
    from proxyctl.config.project import load_project

    try:
        project = load_project(_typed(FileOptions, context).sources(), needs_secrets=False)
    except ProxyctlError:
        return []
    servers = project.desired.tables.get("mysql_servers")
    nodes = sorted({key[1:3] for key in servers.rows}) if servers else []
    return _starting(
        incomplete, (str(host) if port == 3306 else f"{host}:{port}" for host, port in nodes)
    )


def check_names(incomplete: str) -> list[str]:
    """Return the codes and names of lint's checks."""
    from proxyctl.lint.check import all_checks

    words = (word for code, one in all_checks().items() for word in (code, one.name))
    return _starting(incomplete, words)


def finding_codes(incomplete: str) -> list[str]:
    """Return the codes of doctor's findings."""
    from proxyctl.doctor.finding import CODES

    return _starting(incomplete, CODES)


def _starting(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _typed(group: type[T], context: typer.Context) -> T:
    """Return a group of options as far as it was typed."""
    given = {one.name: context.params.get(one.name) for one in fields(group)}  # type: ignore[arg-type]
    options = {name: value for name, value in given.items() if value is not None}
    return group(**(options | ({"context": context} if "context" in given else {})))
