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
    from proxyctl.cli.connect import chosen_address
    from proxyctl.cli.options import ConnectionOptions, FileOptions
    from proxyctl.snapshots.folder import history

    try:
        address = chosen_address(_typed(FileOptions, context), _typed(ConnectionOptions, context))
        return _starting(incomplete, (kept.name for kept in history(address)))
    except ProxyctlError:
        return []


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
