"""The command nodes list."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import columns, is_terminal, style, write
from proxyctl.errors import ExitCode

if TYPE_CHECKING:
    from proxyctl.instance.client import AdminClient
    from proxyctl.nodes.model import NodeReport


def register(app: typer.Typer) -> None:
    """Add the command to the group."""
    command(app, "list")(list_nodes)


def list_nodes(
    files: FileOptions,
    connection: ConnectionOptions,
    no_ask: Annotated[
        bool,
        typer.Option(
            "--no-ask",
            help="Do not connect to the nodes: only what ProxySQL knows of them.",
        ),
    ] = False,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Show each server: configured, at RUNTIME, and what it says of itself."""
    from proxyctl.cli.connection import connected_beside
    from proxyctl.nodes.list import read_nodes
    from proxyctl.render.nodes_machine import nodes_json
    from proxyctl.render.nodes_text import nodes_text

    with connected_beside(files, connection) as (client, parsed):
        names = {} if parsed is None else parsed.hostgroup_names()
        report = replace(read_nodes(client), hostgroup_names=names)
        if not no_ask:
            report = _asked(client, report)
    if format is TextFormat.JSON:
        write(nodes_json(report))
    else:
        width = columns() if is_terminal(sys.stdout) else None
        write(nodes_text(report, style(), width))
    return ExitCode.DONE


def _asked(client: AdminClient, report: NodeReport) -> NodeReport:
    from proxyctl.instance.backend import ask_nodes, monitor_account
    from proxyctl.nodes.list import with_answers

    nodes = {view.node for group in report.groups for view in group.nodes}
    return replace(
        report, groups=with_answers(report.groups, ask_nodes(nodes, monitor_account(client)))
    )
