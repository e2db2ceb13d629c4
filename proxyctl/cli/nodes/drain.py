"""The commands nodes drain and nodes restore."""

from __future__ import annotations

import getpass
import socket
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.backend_login import BackendOptions
from proxyctl.cli.nodes.names import instance_of
from proxyctl.cli.options import (
    ConnectionOptions,
    FileOptions,
    PeerOptions,
    TextFormat,
    command,
    spelled,
)
from proxyctl.cli.output import say, write
from proxyctl.drains import DrainMethod
from proxyctl.errors import ApplyError, ExitCode, UsageError

if TYPE_CHECKING:
    from proxyctl.admin.backend import Account
    from proxyctl.admin.client import AdminClient
    from proxyctl.config.load import ParsedFiles
    from proxyctl.state import DesiredTable

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
        bool,
        typer.Option(
            "--force",
            help="Also if a hostgroup has no usable node then, or more servers ONLINE than it may.",
        ),
    ] = False,
    include_pending: IncludePending = False,
    lock_timeout: LockTimeout = 30.0,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Let a node take no new connection, and wait until nothing uses it. A restart ends it."""
    from proxyctl.cli.connection import connected_beside, instances_beside, login_at_members
    from proxyctl.draining import DrainRequest, StillUsed, wait_until_unused
    from proxyctl.draining import drain as drain_node
    from proxyctl.render.nodes_drain_text import drained_text, not_noted_text, unused_text
    from proxyctl.render.nodes_machine import drained_json, drained_object

    account = _account(backends, method)
    with connected_beside(files, connection) as (client, parsed):
        request = DrainRequest(
            node,
            who=_who(),
            purpose=reason,
            force=force,
            include_pending=include_pending,
            lock_timeout_s=lock_timeout,
            progress=say,
            method=method,
            account=account,
            login_at=login_at_members(connection, instances_beside(parsed)),
        )
        drained = drain_node(client, request)
        is_text = format is TextFormat.TEXT
        if is_text:
            write(drained_text(drained.drain, was_before=drained.was_before))
        if drained.was_before and reason not in ("", drained.drain.purpose):
            say(not_noted_text(drained.node, reason))
        instance = instance_of(client)
        said = partial(drained_object, instance, drained.drain, was_before=drained.was_before)
        beside = said()

        def still_used(left: StillUsed) -> None:
            beside.update(said(in_use=left.in_use, unused_at=left.unused_at))

        peers: list[str] = []
        if wait:
            try:
                peers = wait_until_unused(
                    client,
                    drained.node,
                    timeout_s=timeout,
                    progress=say,
                    method=drained.drain.method,
                    login_at=request.login_at,
                    families=drained.families,
                    told=still_used,
                )
            except ApplyError as error:
                error.beside = beside
                raise
            if is_text:
                write(unused_text(drained.node, len(peers)))
    if not is_text:
        write(
            drained_json(
                instance,
                drained.drain,
                was_before=drained.was_before,
                is_unused=wait,
                unused_at=peers,
            )
        )
    return ExitCode.DONE


def restore(
    node: NodeArgument,
    files: FileOptions,
    connection: ConnectionOptions,
    backends: BackendOptions,
    peers: PeerOptions,
    method: Annotated[
        DrainMethod | None,
        typer.Option("--method", help="How it was drained, where nothing is on record about that."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Also if MEMORY has it drained: with what is on record, in the files, or default;"
            " or if a hostgroup has more servers ONLINE then than it may, or edits of others leave"
            " one without a usable node.",
        ),
    ] = False,
    include_pending: IncludePending = False,
    lock_timeout: LockTimeout = 30.0,
    format: FormatOption = TextFormat.TEXT,
) -> int:
    """Put a drained node back as it was."""
    from proxyctl.cli.connection import connected_beside, instances_beside, login_at_members
    from proxyctl.draining import DrainRequest, wait_until_back
    from proxyctl.draining import restore as restore_node
    from proxyctl.render.nodes_drain_text import followed_text, restored_text
    from proxyctl.render.nodes_machine import restored_json, restored_object

    with connected_beside(files, connection) as (client, parsed):
        request = DrainRequest(
            node,
            force=force,
            include_pending=include_pending,
            lock_timeout_s=lock_timeout,
            progress=say,
            method=method,
            account=backends.account(),
            login_at=login_at_members(connection, instances_beside(parsed)),
            files=partial(_servers_of, parsed, client),
        )
        restored = restore_node(client, request)
        found = {
            "was_drained": restored.was_drained,
            "is_changed": restored.is_changed,
            "is_gone": restored.is_gone,
            "is_unsaved": restored.is_unsaved,
        }
        back, drain = restored.node, restored.drain
        is_text = format is TextFormat.TEXT
        if is_text:
            write(
                restored_text(
                    back, drain, **found, left_out=restored.left_out, unnamed=restored.unnamed
                )
            )
        document = restored_object(
            instance_of(client),
            back,
            drain,
            **found,
            left_out=restored.left_out,
            unnamed=restored.unnamed,
        )
        try:
            following = wait_until_back(
                client,
                restored,
                timeout_s=peers.peer_timeout,
                progress=say,
                login_at=request.login_at,
            )
        except ApplyError as error:
            error.beside = document
            raise
        if is_text and following:
            write(followed_text(restored.node, len(following)))
    if not is_text:
        write(restored_json(document, following))
    return ExitCode.DONE


def _servers_of(parsed: ParsedFiles | None, client: AdminClient) -> DesiredTable | None:
    """Return what the files say of mysql_servers. Raises: ConfigError."""
    if parsed is None:
        return None
    project = parsed.project(client.version, takes_dead_rules=True, needs_secrets=False)
    return project.desired.tables.get("mysql_servers")


def _account(backends: BackendOptions, method: DrainMethod) -> Account | None:
    """Return who logs in to the node; None where nobody has to, or nobody is named.

    Raises: UsageError for an account that nobody would use; ProxyctlError.
    """
    if method is DrainMethod.PXC_MAINT_MODE:
        return backends.account()
    if backends.typed:
        option = spelled(min(backends.typed))
        raise UsageError(f"{option} goes with --method {DrainMethod.PXC_MAINT_MODE}")
    return None


def _who() -> str:
    """Return who we are, for others: a name and a machine."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a user without an entry, as in many containers
        name = "somebody"
    return f"{name} on {socket.gethostname()}"
