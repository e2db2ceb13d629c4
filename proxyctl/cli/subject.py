"""Which configuration a question is about: that of the files, or what an instance runs with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxyctl.cli.connection import connected, has_files, settled
from proxyctl.cli.options import ConnectionOptions, FileOptions
from proxyctl.state.row import Layer

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.state.configuration import Configuration

_ADDRESS = frozenset({"host", "port", "socket", "instance"})


@dataclass(frozen=True)
class Subject:
    """A configuration, and what to call it. `name` of an instance; empty for files."""

    configuration: Configuration
    name: str = ""


def is_about_instance(files: FileOptions, connection: ConnectionOptions) -> bool:
    """Return whether the running configuration is meant.

    It is when the command line names an address, or when there are no files and the environment
    does.
    """
    if connection.typed & _ADDRESS:
        return True
    named = settled(connection)
    return not has_files(files) and bool(named.host or named.socket or named.instance)


def subject_of(
    files: FileOptions,
    connection: ConnectionOptions,
    *,
    version: Version,
    tables: Iterable[str] | None = None,
    layer: Layer = Layer.RUNTIME,
) -> Subject:
    """Return the configuration that is meant; rules that are dead in it are no mistake.

    `version` of the ProxySQL that files are for; `tables` and `layer` say what to read of an
    instance. Raises: ConfigError, InstanceError, UsageError.
    """
    if not is_about_instance(files, connection):
        from proxyctl.config.project import load_project

        project = load_project(
            files.sources(), version=version, takes_dead_rules=True, needs_secrets=False
        )
        return Subject(project.configuration)
    from proxyctl.instance.read import read_configuration

    with connected(files, connection) as client:
        found = read_configuration(client, layer, tables)
        return Subject(found, client.login.name or client.address)
