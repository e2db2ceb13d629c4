"""The commands nodes drain and nodes restore."""

from __future__ import annotations

from typing import Annotated

import typer

from proxyctl.cli.nodes.names import instance_of
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import say, write
from proxyctl.errors import ExitCode

NodeArgument = Annotated[
    str, typer.Argument(metavar="HOST[:PORT]", help="The server, as in mysql_servers.")
]
LockTimeout = Annotated[
    float, typer.Option(min=0, metavar="SECONDS", help="Wait this long for another apply.")
]
FormatOption = Annotated[TextFormat, typer.Option("--format", help="How to write.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the group."""
    command(app, "drain")(drain)
    command(app, "restore")(restore)


def drain(
    node: NodeArgument,
    files: FileOptions,
    connection: ConnectionOptions,
    wait: Annotated[
        bool,
        typer.Option("--wait/--no-wait", help="Wait until no connection to the node is in use."),
    ] = True,
    timeout: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Wait at most this long; then exit with 4."),
    ] = 300.0,
    force: Annotated[
        bool, typer.Option("--force", help="Also if a hostgroup has no usable server then.")
    ] = False,
    lock_timeout: LockTimeout = 30.0,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Let a node take no new connections, at RUNTIME only: a restart of ProxySQL ends it."""
    from proxyctl.cli.connection import connected_beside
    from proxyctl.nodes.drain import DrainRequest, wait_until_unused
    from proxyctl.nodes.drain import drain as drain_node
    from proxyctl.render.nodes_drain_text import drained_text, unused_text
    from proxyctl.render.nodes_machine import drained_json

    is_text = format is TextFormat.TEXT
    with connected_beside(files, connection) as (client, _):
        done = drain_node(client, DrainRequest(node, force, lock_timeout, say))
        if is_text:
            write(drained_text(done.node, was_before=not done.is_changed))
        if wait:
            wait_until_unused(client, done.node, timeout_s=timeout, progress=say)
            if is_text:
                write(unused_text(done.node))
        if not is_text:
            was_before = not done.is_changed
            write(
                drained_json(instance_of(client), done.node, was_before=was_before, is_unused=wait)
            )
    return ExitCode.DONE


def restore(
    node: NodeArgument,
    files: FileOptions,
    connection: ConnectionOptions,
    lock_timeout: LockTimeout = 30.0,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Let a drained node serve again as it is configured."""
    from proxyctl.cli.connection import connected_beside
    from proxyctl.nodes.drain import DrainRequest
    from proxyctl.nodes.drain import restore as restore_node
    from proxyctl.render.nodes_drain_text import restored_text
    from proxyctl.render.nodes_machine import restored_json

    with connected_beside(files, connection) as (client, _):
        request = DrainRequest(node, lock_timeout_s=lock_timeout, progress=say)
        done = restore_node(client, request)
        if format is TextFormat.TEXT:
            write(restored_text(done.node, was_drained=done.is_changed))
        else:
            write(restored_json(instance_of(client), done.node, was_drained=done.is_changed))
    return ExitCode.DONE
