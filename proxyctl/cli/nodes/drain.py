"""The commands nodes drain and nodes restore."""

from __future__ import annotations

import getpass
import socket
from functools import partial
from typing import Annotated

import typer

from proxyctl.cli.backend_login import BackendOptions
from proxyctl.cli.nodes.names import instance_of
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import say, write
from proxyctl.drains import DrainMethod
from proxyctl.errors import ExitCode

NodeArgument = Annotated[
    str, typer.Argument(metavar="HOST[:PORT]", help="The server, as in mysql_servers.")
]
IncludePending = Annotated[
    bool,
    typer.Option(
        "--include-pending", help="Load other people's edits of servers in MEMORY together with it."
    ),
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
    backends: BackendOptions,
    method: Annotated[
        DrainMethod,
        typer.Option(
            "--method",
            help="What takes it out: rows of ProxySQL, or pxc_maint_mode on the node itself.",
        ),
    ] = DrainMethod.PROXYSQL,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait/--no-wait", help="Wait until no connection to the node is in use; or do not."
        ),
    ] = True,
    timeout: Annotated[
        float,
        typer.Option(min=0, metavar="SECONDS", help="Wait at most this long; then exit with 4."),
    ] = 300.0,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="What for; others are shown it.")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Also if a hostgroup has no usable node then.")
    ] = False,
    include_pending: IncludePending = False,
    lock_timeout: LockTimeout = 30.0,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Let a node take no new connection, and wait until nothing uses it. A restart ends it."""
    from proxyctl.cli.connection import connected, login_at_members, named_instances
    from proxyctl.draining import DrainRequest, wait_until_unused
    from proxyctl.draining import drain as drain_node
    from proxyctl.render.nodes_drain_text import drained_text, unused_text
    from proxyctl.render.nodes_machine import drained_json

    with connected(files, connection) as client:
        request = DrainRequest(
            node,
            who=_who(),
            purpose=reason,
            force=force,
            include_pending=include_pending,
            lock_timeout_s=lock_timeout,
            progress=say,
            method=method,
            account=backends.account(),
            login_at=login_at_members(connection, named_instances(files)),
        )
        drained = drain_node(client, request)
        is_text = format is TextFormat.TEXT
        if is_text:
            write(drained_text(drained.drain, was_before=drained.was_before))
        if wait:
            wait_until_unused(client, drained.node, timeout_s=timeout, progress=say)
            if is_text:
                write(unused_text(drained.node))
        instance = instance_of(client)
    if not is_text:
        write(drained_json(instance, drained.drain, was_before=drained.was_before, is_unused=wait))
    return ExitCode.DONE


def restore(
    node: NodeArgument,
    files: FileOptions,
    connection: ConnectionOptions,
    backends: BackendOptions,
    method: Annotated[
        DrainMethod | None,
        typer.Option("--method", help="How it was drained, where nothing is on record about that."),
    ] = None,
    include_pending: IncludePending = False,
    lock_timeout: LockTimeout = 30.0,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Put a drained node back as it was."""
    from proxyctl.cli.connection import connected, login_at_members, named_instances
    from proxyctl.draining import DrainRequest
    from proxyctl.draining import restore as restore_node
    from proxyctl.render.nodes_drain_text import restored_text
    from proxyctl.render.nodes_machine import restored_json

    with connected(files, connection) as client:
        request = DrainRequest(
            node,
            include_pending=include_pending,
            lock_timeout_s=lock_timeout,
            progress=say,
            method=method,
            account=backends.account(),
            login_at=login_at_members(connection, named_instances(files)),
        )
        restored = restore_node(client, request)
        instance = instance_of(client)
    write(
        (restored_text if format is TextFormat.TEXT else partial(restored_json, instance))(
            restored.node,
            restored.drain,
            was_drained=restored.was_drained,
            is_changed=restored.is_changed,
        )
    )
    return ExitCode.DONE


def _who() -> str:
    """Return who we are, for others: a name and a machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as in many containers
        name = "somebody"
    return f"{name} on {socket.gethostname()}"
