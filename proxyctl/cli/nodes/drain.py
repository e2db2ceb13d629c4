"""The commands nodes drain and nodes restore."""

from __future__ import annotations

import getpass
import socket
from typing import Annotated

import typer

from proxyctl.cli.backend_login import BackendOptions
from proxyctl.cli.options import ConnectionOptions, FileOptions, command
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
) -> int:
    """Let a node take no new connection, and wait until nothing uses it. A restart ends it."""
    from proxyctl.cli.connection import connected
    from proxyctl.draining import DrainRequest, wait_until_unused
    from proxyctl.draining import drain as drain_node
    from proxyctl.render.nodes_drain_text import drained_text, unused_text

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
        )
        drained = drain_node(client, request)
        write(drained_text(drained.drain, was_before=drained.was_before))
        if wait:
            wait_until_unused(client, drained.node, timeout_s=timeout, progress=say)
            write(unused_text(drained.node))
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
) -> int:
    """Put a drained node back as it was."""
    from proxyctl.cli.connection import connected
    from proxyctl.draining import DrainRequest
    from proxyctl.draining import restore as restore_node
    from proxyctl.render.nodes_drain_text import restored_text

    with connected(files, connection) as client:
        request = DrainRequest(
            node,
            include_pending=include_pending,
            lock_timeout_s=lock_timeout,
            progress=say,
            method=method,
            account=backends.account(),
        )
        restored = restore_node(client, request)
    write(
        restored_text(
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
