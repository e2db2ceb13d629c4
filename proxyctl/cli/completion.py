"""Shell completion for the values of options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import TypeVar

import typer

from proxyctl.cli.file_options import FileOptions
from proxyctl.errors import ProxyctlError

T = TypeVar("T")
Completer = Callable[[typer.Context], Iterable[str]]


def completion(names: Completer) -> Callable[[typer.Context, str], list[str]]:
    """Return a completion that offers the names that begin as typed, none for wrong files."""

    def complete(context: typer.Context, incomplete: str) -> list[str]:
        try:
            return [name for name in names(context) if name.startswith(incomplete)]
        except ProxyctlError:
            return []

    return complete


def typed(group: type[T], context: typer.Context) -> T:
    """Return a group of options with the values typed so far."""
    values = {**context.params, "context": context}
    return group(**{option.name: values.get(option.name) for option in fields(group)})  # type: ignore[arg-type]


@completion
def module_names(_: typer.Context) -> Iterator[str]:
    """Yield the admin modules and tables for --only, with `-` for the blanks in modules."""
    from proxyctl.catalog import ADMIN_MODULES, TABLES

    yield from (name.replace(" ", "-") for name in ADMIN_MODULES)
    yield from (name for name, table in TABLES.items() if not table.prefix)


@completion
def instance_names(context: typer.Context) -> Iterator[str]:
    """Yield the instances of the files."""
    from proxyctl.config.files import ConfigFiles

    parsed = ConfigFiles(typed(FileOptions, context).sources())
    yield from (instance.name for instance in parsed.instances() if instance.dns is None)


@completion
def node_names(context: typer.Context) -> Iterator[str]:
    """Yield the servers of the files, with the port unless it is 3306."""
    from proxyctl.config.files import load_project

    project = load_project(typed(FileOptions, context).sources(), needs_secrets=False)
    servers = project.desired.tables.get("mysql_servers")
    for host, port in sorted({key[1:3] for key in servers.rows}) if servers else ():
        yield str(host) if port == 3306 else f"{host}:{port}"


@completion
def key_names(_: typer.Context) -> Iterator[str]:
    """Yield the tables, columns and variables for `schema --key`."""
    from proxyctl.config.key_lookup import known_keys

    yield from known_keys()


@completion
def check_names(_: typer.Context) -> Iterator[str]:
    """Yield the codes and names of lint's checks."""
    from proxyctl.lint.check import all_checks

    for code, check in all_checks().items():
        yield from (code, check.name)


@completion
def finding_codes(_: typer.Context) -> Iterable[str]:
    """Return the codes of doctor's findings."""
    from proxyctl.doctor.finding import CODES

    return CODES
