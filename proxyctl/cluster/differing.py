"""What the files want of two members of a cluster that take over from one another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from proxyctl.catalog import ADMIN_MODULES
from proxyctl.catalog.variables import MEMBERS_OWN
from proxyctl.cluster.membership import Membership, is_off, lacks_account
from proxyctl.families import Node
from proxyctl.state import DesiredRow, DesiredTable, Key


class Compared(Enum):
    """Whether two files say the same of what travels."""

    ALIKE = auto()
    DIFFERS = auto()
    UNKNOWN = auto()


@dataclass
class OtherMembers:
    """Members that take over what is loaded here.

    Shape: `differing` has the names of those for which the files say something else, by admin
    module; `not_compared` such for which it is not known, by admin module and why.
    """

    differing: dict[str, list[str]] = field(default_factory=dict)
    not_compared: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def note(self, modules: Iterable[str], name: str, why: str) -> None:
        """Note that what the files say for a member could not be compared. Changes: itself."""
        for module in modules:
            self.not_compared.setdefault((module, why), []).append(name)

    def warnings(self) -> Iterator[str]:
        """Yield who could not be compared, and why."""
        for (module, why), names in self.not_compared.items():
            take = "it takes" if len(names) == 1 else "they take"
            yield (
                f"{module}: what the files say for {', '.join(names)} of this ProxySQL Cluster"
                f" could not be compared: {why}; {take} over what is loaded here"
            )


def compared(
    module: str,
    ours: Mapping[str, DesiredTable],
    theirs: Mapping[str, DesiredTable],
    unknown: str,
) -> Compared:
    """Compare two compiled files in what travels of an admin module.

    `unknown` stands in theirs for a secret that is not at hand.
    """
    is_known = True
    for table in ADMIN_MODULES[module].tables:
        our_rows = dict(_travelling(ours.get(table.name)))
        their_rows = dict(_travelling(theirs.get(table.name)))
        if our_rows.keys() != their_rows.keys():
            return Compared.DIFFERS
        for key, row in their_rows.items():
            ours_there = our_rows[key]
            if any(
                cell != other and cell != unknown
                for cell, other in zip(row, ours_there, strict=True)
            ):
                return Compared.DIFFERS
            is_known = is_known and row == ours_there
    return Compared.ALIKE if is_known else Compared.UNKNOWN


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
