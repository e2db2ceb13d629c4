"""What the files say for the other members of an instance's cluster, by the `vars` of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from proxyctl.cluster.differing import Compared, OtherMembers, compared, taken_by
from proxyctl.cluster.membership import Membership
from proxyctl.cluster.namesakes import AddressesOf, namesakes
from proxyctl.config.context import UNKNOWN_SECRET
from proxyctl.config.load import ParsedFiles, Project
from proxyctl.errors import ConfigError
from proxyctl.families import Node


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
    nodes: dict[str, Node] = {one.name: (one.host, one.port) for one in others if one.host}
    members = namesakes([*nodes.values()], membership.listed, addresses_of)
    for instance in others:
        member = members.get(nodes.get(instance.name, ("", 0)))
        taken = [] if member is None else taken_by(member, loaded, membership)
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
