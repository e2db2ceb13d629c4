"""The members of a cluster against the files, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.instance.backend import Said
from proxyctl.nodes.discover import Membership, silent_text
from proxyctl.render.nodes_text import answers
from proxyctl.render.style import PLAIN, Style
from proxyctl.state.families import Node, node_text
from proxyctl.text import printable


def membership_text(found: Membership, style: Style = PLAIN) -> str:
    """Return the members, then which nodes one side lacks."""
    return "\n".join(_lines(found, style)) + "\n"


def _lines(found: Membership, style: Style) -> Iterator[str]:
    yield style("bold", f"cluster {printable(found.cluster) or '(without a name)'}")
    names = {node: _name(node) for node in found.members}
    width = max((len(name) for name in names.values()), default=0)
    for node, said in found.members.items():
        yield f"  {names[node]:<{width}}  {_said(said)}".rstrip()
    if found.silent:
        yield style("add", silent_text(found.silent))
    if not found.hostgroups:
        yield "the files have no Galera hostgroups with a node of it"
        return
    hostgroups = ", ".join(map(str, found.hostgroups))
    for node in found.missing:
        yield style("add", f"{_name(node)} is a member, and in no file")
    for node in found.gone:
        yield style("delete", f"{_name(node)} is in the files, and no member")
    for node in found.unsure:
        yield f"{_name(node)} is in the files, and may be a member that does not say its address"
    if found.agrees:
        yield f"the files name the same nodes, in hostgroups {hostgroups}"


def _said(said: Said) -> str:
    if said.unreachable is not None:
        return f"not reached from here: {printable(said.unreachable)}"
    return ", ".join(answers(said))


def _name(node: Node) -> str:
    return printable(node_text(node))
