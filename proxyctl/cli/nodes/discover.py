"""The command nodes discover."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.nodes.names import instance_of
from proxyctl.cli.options import ConnectionOptions, FileOptions, TextFormat, command
from proxyctl.cli.output import say, style, write, write_file
from proxyctl.cli.target import check_new
from proxyctl.errors import ExitCode, InstanceError, UsageError, counted

if TYPE_CHECKING:
    from proxyctl.config.project import ParsedFiles
    from proxyctl.instance.backend import Said
    from proxyctl.instance.client import AdminClient
    from proxyctl.state.families import Family, Node

_MOST_MEMBERS = 1000
"""A Galera cluster has some dozens of members; each that does not answer is waited for."""


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
    from proxyctl.nodes.discover import compared, pxc_section
    from proxyctl.render.nodes_discover_text import membership_text, silent_text
    from proxyctl.render.nodes_machine import membership_json

    first = _one_node(seed)
    if out is not None:
        check_new(Path(out))
    configured: dict[Family, tuple[Node, ...]] = {}
    if has_files(files):
        with opened(files, connection) as (client, parsed):
            cluster, members, silent = _members(client, first)
            configured = _configured(client, parsed)
            instance = instance_of(client)
    else:
        with connected(files, connection) as client:
            cluster, members, silent = _members(client, first)
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


def _one_node(seed: str) -> Node:
    """Return the node that is asked first. Raises: UsageError."""
    from proxyctl.nodes.discover import members_in

    nodes = members_in(seed)
    is_one = len(nodes) == 1 and not {",", "/"} & set(seed)
    if not (is_one and _may_be_host(str(nodes[0][0])) and 0 < int(nodes[0][1] or 0) < 65536):
        raise UsageError("--seed: one node is meant, HOST or HOST:PORT")
    return nodes[0]


def _may_be_host(name: str) -> bool:
    """Return whether this can name a machine: what has a colon is an address, or a wrong port."""
    if ":" not in name:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _members(client: AdminClient, first: Node) -> tuple[str, dict[Node, Said], int]:
    """Return the name of the cluster, its members with what each says, and how many are silent.

    Raises: InstanceError when the seed does not answer, is no node of a cluster, or was left by it.
    """
    from proxyctl.instance.backend import ask_nodes, monitor_account
    from proxyctl.nodes.discover import PRIMARY, named_by
    from proxyctl.render.nodes_discover_text import silent_text

    account = monitor_account(client)
    said = ask_nodes([first], account)[first]
    seed = f"{first[0]}:{first[1]}"
    if said.unreachable is not None:
        raise InstanceError(
            f"{seed}: {said.unreachable}",
            hint="it is asked with the account of ProxySQL's monitor, from this machine",
        )
    component = said.status.get("wsrep_cluster_status", PRIMARY)
    if component != PRIMARY:
        # It names only those on its side, be it nobody else, while the others go on without it.
        raise InstanceError(
            f"{seed}: it is not in the primary component ({component}), and does not know who is",
            hint="ask another node",
        )
    nodes, silent = named_by([], said)
    if not nodes and silent:
        raise InstanceError(
            f"{seed}: {silent_text(silent)}, and no other one is known",
            hint="set wsrep_node_incoming_address there",
        )
    if not nodes:
        raise InstanceError(f"{seed}: wsrep_incoming_addresses names no member of a cluster")
    asked: dict[Node, Said] = {}
    while new := nodes - asked.keys():
        if len(nodes) > _MOST_MEMBERS:
            raise InstanceError(
                f"{seed}: wsrep_incoming_addresses names {len(nodes):,} members, more than any"
                " cluster has"
            )
        asked |= ask_nodes(sorted(new), account)
        nodes, silent = named_by(asked.values(), said)
    members = {node: asked[node] for node in sorted(nodes)}
    return said.variables.get("wsrep_cluster_name", ""), members, silent


def _configured(client: AdminClient, parsed: ParsedFiles) -> dict[Family, tuple[Node, ...]]:
    """Return the nodes of each Galera family in the files, be it switched off there or not."""
    from proxyctl.nodes.discover import nodes_by_family
    from proxyctl.state.families import families_in

    tables = parsed.project(
        client.version, takes_dead_rules=True, needs_secrets=False
    ).desired.tables
    servers, galera = tables.get("mysql_servers"), tables.get("mysql_galera_hostgroups")
    if servers is None or galera is None:
        return {}
    layouts = {"mysql_galera_hostgroups": galera.layout}
    active = galera.layout.index["active"]
    switched_on = [(*row[:active], 1, *row[active + 1 :]) for row in galera.rows.values()]
    rows = {"mysql_galera_hostgroups": switched_on}
    families = families_in(layouts, rows, rds_discovery=False)  # type: ignore[arg-type]
    return nodes_by_family(servers.layout, servers.rows, families)
