"""The commands nodes list, drain, restore and discover: the servers behind ProxySQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxyctl.cli.commands.apply import reporter
from proxyctl.cli.completion import node_names
from proxyctl.cli.connect import SelectionOptions
from proxyctl.cli.option_kinds import OR_STDOUT, flag, out_option, value
from proxyctl.cli.options import (
    BackendOptions,
    FleetOptions,
    FormatOption,
    LockTimeoutOption,
    NodeFleetOptions,
)
from proxyctl.cli.output import (
    check_new,
    columns,
    emit,
    is_terminal,
    progress,
    say,
    style,
    write,
    write_file,
)
from proxyctl.errors import ExitCode, InterruptedApplyError, UsageError
from proxyctl.text import counted

if TYPE_CHECKING:
    from proxyctl.fleet.targets import Target
    from proxyctl.instance.client import AdminClient
    from proxyctl.nodes.fleet_drain import FleetNodeResult
    from proxyctl.render.nodes import ShownInstance

NodeArgument = Annotated[
    str,
    typer.Argument(
        metavar="HOST[:PORT]",
        help="The server, as in mysql_servers; or its comment.",
        autocompletion=node_names,
    ),
]


def _instance_of(client: AdminClient) -> ShownInstance:
    """Return the instance as the JSON output describes it."""
    from proxyctl.render.nodes import ShownInstance

    return ShownInstance(client.name, client.address, client.version_text)


def list_nodes(
    selection: SelectionOptions,
    servers: BackendOptions,
    fleet: FleetOptions,
    no_ask: bool = flag("--no-ask", "Do not connect to the nodes, as with --all."),
    format: FormatOption = "text",
) -> int:
    """Show each server as configured, at RUNTIME and as it reports itself.

    With --all: where each instance has each server at RUNTIME.
    """
    from proxyctl.instance.backend import ask_nodes, monitor_account
    from proxyctl.nodes.list import read_nodes, with_answers
    from proxyctl.render.nodes import NODES, nodes_text

    if fleet.is_for_all():
        if any(vars(servers).values()):
            raise UsageError("--all asks no nodes: leave out the options --backend-...")
        return _list_all(selection.targets(fleet, files_are_optional=True), fleet, format)
    with selection.connect() as client:
        report = replace(read_nodes(client), hostgroup_names=selection.hostgroup_names())
        if not no_ask:
            nodes = {view.node for group in report.groups for view in group.nodes}
            answers = ask_nodes(nodes, monitor_account(client, servers.trust()))
            report = replace(report, groups=with_answers(report.groups, answers))
    width = columns() if is_terminal(sys.stdout) else None
    emit(
        format,
        text=lambda: nodes_text(report, style(), width),
        json=lambda: NODES.document(report),
    )
    return ExitCode.DONE


def _list_all(targets: Sequence[Target], options: FleetOptions, format: str) -> int:
    """Show where each instance has each server; name the instances that cannot be read."""
    from proxyctl.fleet.targets import at_all
    from proxyctl.nodes.fleet import NodesOfFleet
    from proxyctl.nodes.list import read_nodes
    from proxyctl.nodes.model import NodeReport
    from proxyctl.render.nodes_fleet import NODES_OF_FLEET, nodes_of_fleet_text

    def work(target: Target) -> NodeReport:
        with target.connect() as client:
            return replace(read_nodes(client), hostgroup_names=target.files.hostgroup_names())

    with progress("reading nodes", len(targets)) as advance:
        fleet = NodesOfFleet(*at_all(targets, work, workers=options.parallel, done=advance))
    emit(
        format,
        text=lambda: nodes_of_fleet_text(fleet, style()),
        json=lambda: NODES_OF_FLEET.document(fleet),
    )
    return fleet.exit_code


def drain(
    node: NodeArgument,
    selection: SelectionOptions,
    fleet: NodeFleetOptions,
    wait: bool = flag(
        "--wait/--no-wait", "Wait until no connection to the node is in use.", default=True
    ),
    timeout: float = value(
        "SECONDS", "Give up after this time, with exit code 4.", default=300.0, min=0
    ),
    force: bool = flag("--force", "Drain even if a hostgroup is left without a usable server."),
    lock_timeout: LockTimeoutOption = 30.0,
    format: FormatOption = "text",
) -> int:
    """Stop new connections to a node, at RUNTIME only. A restart of ProxySQL ends it."""
    from proxyctl.nodes.drain import NodeRequest, wait_until_unused
    from proxyctl.nodes.drain import drain as drain_node
    from proxyctl.nodes.fleet_drain import FleetNodeRequest, drain_at_all
    from proxyctl.render.nodes import DRAINED, NODE, drained_text, unused_text

    is_text = format == "text"
    request = NodeRequest(node, force, lock_timeout, reporter())
    if fleet.is_for_all():
        at_all = FleetNodeRequest(
            request, fleet.keep_going, fleet.parallel, timeout if wait else None
        )
        targets = selection.targets(fleet, files_are_optional=True)
        return _report_at_all(drain_at_all(targets, at_all), format)
    with selection.connect() as client:
        result = drain_node(client, request)
        if is_text:
            text = drained_text(result.node, was_before=not result.is_changed)
            with _reporting(f"{node} is drained"):
                write(style().text(text))
        if wait:
            wait_until_unused(client, result.node, timeout_s=timeout, reporter=reporter())
            if is_text:
                write(style().text(unused_text(result.node)))
        if not is_text:
            instance, was_before = _instance_of(client), not result.is_changed
            named = NODE.encode(result.node)
            with _reporting(f"{node} is drained"):
                write(DRAINED.document(instance, **named, was_before=was_before, unused=wait))
    return ExitCode.DONE


def _report_at_all(result: FleetNodeResult, format: str) -> int:
    """Write the result of a drain or restore at all instances, and return its exit code."""
    from proxyctl.render.nodes_fleet import NODE_AT_ALL, node_at_all_text

    with _reporting(node_at_all_text(result).splitlines()[-1]):
        emit(
            format,
            text=lambda: node_at_all_text(result, style()),
            json=lambda: NODE_AT_ALL.document(result),
        )
    return result.exit_code


@contextmanager
def _reporting(state: str) -> Iterator[None]:
    """Say what was done if the block, which writes it, is interrupted."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise InterruptedApplyError(f"interrupted: {state}") from error


def restore(
    node: NodeArgument,
    selection: SelectionOptions,
    fleet: NodeFleetOptions,
    lock_timeout: LockTimeoutOption = 30.0,
    format: FormatOption = "text",
) -> int:
    """Return a drained node to its configuration."""
    from proxyctl.nodes.drain import NodeRequest
    from proxyctl.nodes.drain import restore as restore_node
    from proxyctl.nodes.fleet_drain import FleetNodeRequest, restore_at_all
    from proxyctl.render.nodes import NODE, RESTORED, restored_text

    request = NodeRequest(node, lock_timeout_s=lock_timeout, reporter=reporter())
    if fleet.is_for_all():
        at_all = FleetNodeRequest(request, fleet.keep_going, fleet.parallel)
        targets = selection.targets(fleet, files_are_optional=True)
        return _report_at_all(restore_at_all(targets, at_all), format)
    with selection.connect() as client:
        result = restore_node(client, request)
        with _reporting(f"{node} is not drained"):
            if format == "text":
                write(style().text(restored_text(result.node, was_drained=result.is_changed)))
            else:
                named, was_drained = NODE.encode(result.node), result.is_changed
                write(RESTORED.document(_instance_of(client), **named, was_drained=was_drained))
    return ExitCode.DONE


def discover(
    selection: SelectionOptions,
    servers: BackendOptions,
    seed: str = value("HOST[:PORT]", "Any node of the cluster.", default=...),
    out: Annotated[
        str | None, out_option(help="Write the section to this new file.", fix=OR_STDOUT)
    ] = None,
    format: FormatOption = "text",
) -> int:
    """Find the members of a cluster. Write the section for the files, or check it.

    Exit 2 if the files and the cluster do not name the same nodes.
    """
    from proxyctl.instance.backend import addresses_of_each
    from proxyctl.nodes.discover import (
        compared,
        configured_nodes,
        pxc_section,
        read_members,
        seed_node,
    )
    from proxyctl.render.nodes import MEMBERSHIP, membership_text

    first = seed_node(seed)
    if out is not None:
        check_new(Path(out))
    target = selection.target(files_are_optional=True)
    with target.connect() as client:
        cluster, members = read_members(client, first, servers.trust())
        configured = configured_nodes(client, target.files)
        instance = _instance_of(client)
    membership = compared(cluster, members, configured, addresses_of_each)
    writes = not configured or out is not None
    section = pxc_section(cluster, members) if writes else None
    is_text = format == "text"
    if is_text and not configured:
        say(counted(len(membership.members), "member"))
    elif is_text and writes:
        say(*membership_text(membership).rstrip().split("\n"))
    if section is not None and out is not None:
        write_file(Path(out), section, is_new=True)
    if not is_text:
        write(MEMBERSHIP.document(membership, **vars(instance), section=section))
    elif section is None:
        write(style().text(membership_text(membership, style())))
    elif out is None:
        write(section)
    differs = configured and not (membership.hostgroups and membership.agrees)
    return ExitCode.DIFFERENCES if differs else ExitCode.DONE
