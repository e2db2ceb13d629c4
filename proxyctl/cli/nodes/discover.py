"""The command nodes discover."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.nodes.names import instance_of
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.cli.target import check_new
from proxyctl.errors import ExitCode, counted

if TYPE_CHECKING:
    from proxyctl.state.families import Family, Node


def register(app: typer.Typer) -> None:
    """Add the command to the group."""
    command(app, "discover")(discover)


def discover(
    files: FileOptions,
    connection: ConnectionOptions,
    seed: Annotated[
        str, typer.Option("--seed", metavar="HOST[:PORT]", help="Any node of the cluster.")
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Write the section into this new file instead."
        ),
    ] = None,
    format: Annotated[TextFormat, typer.Option("--format", help="How to write.")] = TextFormat.TEXT,
) -> int:
    """Find the members of a cluster: write the section for the files, or check the one there is.

    Ends with 2 where the files and the cluster do not name the same nodes.
    """
    from proxyctl.cli.connection import connected, has_files, opened
    from proxyctl.instance.backend import addresses_of_each
    from proxyctl.nodes.discover import (
        compared,
        configured_nodes,
        pxc_section,
        read_members,
        seed_node,
        silent_text,
    )
    from proxyctl.render.nodes_discover_text import membership_text
    from proxyctl.render.nodes_machine import membership_json

    first = seed_node(seed)
    if out is not None:
        check_new(Path(out))
    configured: dict[Family, tuple[Node, ...]] = {}
    if has_files(files):
        with opened(files, connection) as (client, parsed):
            cluster, members, silent = read_members(client, first)
            configured = configured_nodes(client, parsed)
            instance = instance_of(client)
    else:
        with connected(files, connection) as client:
            cluster, members, silent = read_members(client, first)
            instance = instance_of(client)
    found = compared(cluster, members, configured, addresses_of_each, silent=silent)
    is_text = format is TextFormat.TEXT
    differs = configured and not (found.hostgroups and found.agrees)
    code = ExitCode.DIFFERENCES if differs else ExitCode.DONE
    if configured and out is None:
        write(
            membership_text(found, style()) if is_text else membership_json(instance, found, None)
        )
        return code
    section = pxc_section(cluster, members, silent=silent)
    if is_text and configured:
        say(*membership_text(found).rstrip().split("\n"))
    elif is_text:
        say(counted(len(members), "member"), *([silent_text(silent)] if silent else []))
    if out is not None:
        write_file(Path(out), section, is_new=True)
    if not is_text:
        write(membership_json(instance, found, section))
    elif out is None:
        write(section)
    return code
