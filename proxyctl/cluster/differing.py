"""What the files want of two members of a cluster that take over from one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from proxyctl.catalog import ADMIN_MODULES
from proxyctl.catalog.variables import MEMBERS_OWN
from proxyctl.cluster.membership import Membership, is_off, lacks_account
from proxyctl.families import Node
from proxyctl.state import DesiredRow, DesiredTable, Key


def differs(
    module: str, ours: Mapping[str, DesiredTable], theirs: Mapping[str, DesiredTable]
) -> bool:
    """Return whether two compiled files differ in what travels of an admin module."""
    return any(
        dict(_travelling(ours.get(table.name))) != dict(_travelling(theirs.get(table.name)))
        for table in ADMIN_MODULES[module].tables
    )


def _travelling(table: DesiredTable | None) -> Iterator[tuple[Key, DesiredRow]]:
    """Yield the rows that members take over: active ones, and no variable that each has itself."""
    if table is None:
        return
    active = table.layout.index.get("active")
    for key, row in table.rows.items():
        is_own = table.layout.table.prefix is not None and key[0] in MEMBERS_OWN
        if not is_own and (active is None or row[active] != 0):
            yield key, row


def taken_by(node: Node, modules: Iterable[str], membership: Membership) -> list[str]:
    """Return those of the admin modules that a listed member takes over from the instance.

    One that was not asked may be set like the instance itself.
    """
    member = next((one for one in membership.others if one.node == node), None)
    if member is None:
        return []
    found = []
    for module in modules:
        name = membership.name_of(module)
        if name is None:
            continue
        if member.was_asked:
            takes = membership.is_followed_by(member, name)
        else:
            takes = not (is_off(name, membership.variables) or lacks_account(membership.variables))
        if takes:
            found.append(module)
    return found
