"""What the files say for the other members of an instance's cluster, by the `vars` of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from proxyctl.cluster.differing import Compared, OtherMembers, compared, taken_by
from proxyctl.cluster.membership import Membership
from proxyctl.config.context import UNKNOWN_SECRET
from proxyctl.config.load import Instance, ParsedFiles, Project
from proxyctl.errors import ConfigError
from proxyctl.families import Node

AddressesOf = Callable[[Collection[str]], Mapping[str, frozenset[str]]]
"""Gives the addresses of hosts, and the names themselves."""


def other_members(
    files: ParsedFiles,
    compiled: Callable[[ParsedFiles, bool], Project],
    modules: Iterable[str],
    membership: Membership,
    addresses_of: AddressesOf,
) -> OtherMembers:
    """Return the members for which the files say something else, or may do so.

    `modules`: the admin modules that are loaded. Members that take nothing over are left out.
    `compiled` compiles files for the version of the instance, and is told whether it needs their
    secrets: those of others may not be at hand here.
    """
    loaded = [*modules]
    found = OtherMembers()
    if not (membership.listed and loaded):
        return found
    others = [one for one in files.members() if files.with_vars(one.vars) is not files]
    nodes = _listed(others, membership, addresses_of)
    for instance in others:
        taken = taken_by(nodes[instance.name], loaded, membership)
        if not taken:
            continue
        try:
            theirs = compiled(files.with_vars(instance.vars), False).desired.tables
        except ConfigError as error:
            found.note(taken, instance.name, f"they are wrong ({error.mistakes[0].lines()[0]})")
            continue
        ours = compiled(files, True).desired.tables
        for module in taken:
            match compared(module, ours, theirs, UNKNOWN_SECRET):
                case Compared.DIFFERS:
                    found.differing.setdefault(module, []).append(instance.name)
                case Compared.UNKNOWN:
                    found.note([module], instance.name, "a secret of theirs is not at hand here")
    return found


def _listed(
    instances: Collection[Instance], membership: Membership, addresses_of: AddressesOf
) -> dict[str, Node]:
    """Return the member that each instance is, by name, also where they are spelled differently."""
    nodes: dict[str, Node] = {one.name: (one.host or "", one.port) for one in instances}
    ports = {port for _, port in membership.listed}
    unlike = [
        node
        for node in nodes.values()
        if node[0] and node not in membership.listed and node[1] in ports
    ]
    if not unlike:
        return nodes
    members = [one for one in membership.listed if one[1] in {port for _, port in unlike}]
    addresses = addresses_of({str(host) for host, _ in (*unlike, *members)})
    for name, (host, port) in nodes.items():
        if (host, port) not in unlike:
            continue
        alike = [
            one
            for one in members
            if one[1] == port and addresses[str(host)] & addresses[str(one[0])]
        ]
        if len(alike) == 1:
            nodes[name] = alike[0]
    return nodes
