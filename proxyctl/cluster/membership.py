"""What is known of an instance as a member of a cluster, and of the other members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from proxyctl.cluster.checksums import Checksum, checksum_switch, configured, is_source, switch
from proxyctl.families import Node

ACCOUNT = ("admin-cluster_username", "admin-cluster_password")
"""The variables of the account with which a member asks the others; both are needed."""


@dataclass(frozen=True)
class Member:
    """Another member, as it is listed.

    `problem`: why it could not be asked; None where it was, and everything here is its own answer.
    Otherwise `checksums` are what the instance itself last saw of it, `seen_at` when it saw each,
    by its own clock, and the rest is not known. `variables` are those of the cluster, at RUNTIME
    there; `lists` the members that it knows. Units: `seen_at` unix seconds.
    """

    node: Node
    checksums: Mapping[str, Checksum] = field(default_factory=dict)
    problem: str | None = "not asked"
    version_text: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    lists: tuple[Node, ...] = ()
    seen_at: Mapping[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Host and port."""
        return f"{self.node[0]}:{self.node[1]}"

    @property
    def was_asked(self) -> bool:
        """Whether what is known of it is its own answer."""
        return self.problem is None


@dataclass(frozen=True)
class Membership:
    """An instance, and the members that it lists; nobody is listed where it is in no cluster.

    Shape: `own` are its checksums by name, `variables` those of the cluster at RUNTIME; `others`
    has every listed member but the instance itself, as far as it is known which one it is
    (`itself`). Units: `now` unix seconds of the instance's clock.
    """

    listed: tuple[Node, ...] = ()
    own: Mapping[str, Checksum] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
    others: tuple[Member, ...] = ()
    version_text: str = ""
    now: float = 0.0
    itself: Node | None = None

    def name_of(self, module: str) -> str | None:
        """Return the name of the checksum of an admin module; None where it does not travel."""
        return configured(self.own).get(module)

    def travels(self, module: str) -> bool:
        """Return whether members take over this admin module from one another."""
        return self.name_of(module) is not None

    def exchanges_with(self, one: Member) -> bool:
        """Return whether this instance and another member take anything over from one another.

        Members of different versions do not; of one that was not asked the version is not known.
        """
        return not one.was_asked or one.version_text == self.version_text

    def is_followed_by(self, one: Member, name: str) -> bool:
        """Return whether a member, which was asked, takes over what this checksum stands for."""
        return (
            one.was_asked
            and self.exchanges_with(one)
            and not is_off(name, one.variables)
            and not lacks_account(one.variables)
            and (self.itself is None or self.itself in one.lists)
        )

    def newest_epoch(self, module: str) -> int:
        """Return when a member loaded a module last, as far as it is known. Units: unix seconds.

        Members with which nothing is exchanged do not count.
        """
        name = self.name_of(module)
        if name is None:
            return 0
        found = [
            one.checksums[name].epoch
            for one in self.others
            if name in one.checksums and self.exchanges_with(one)
        ]
        return max([self.own[name].epoch, *found])

    def ahead(self, module: str) -> list[Member]:
        """Return the members from which this instance is about to take a module over."""
        name = self.name_of(module)
        if name is None or is_off(name, self.variables) or lacks_account(self.variables):
            return []
        own = self.own[name]
        return [
            one
            for one in self.others
            if self.exchanges_with(one)
            and (seen := one.checksums.get(name)) is not None
            and seen.is_known
            and seen.checksum != own.checksum
            and is_source(seen, own)
        ]


def off_by(name: str, variables: Mapping[str, str]) -> str | None:
    """Return why a member with these variables pulls nothing of a module; None where it does.

    With the checksum off, the other variable is 0 whatever is set.
    """
    if variables.get(checksum_switch(name)) == "false":
        return f"{checksum_switch(name)} is false"
    return f"{switch(name)} is 0" if variables.get(switch(name)) == "0" else None


def is_off(name: str, variables: Mapping[str, str]) -> bool:
    """Return whether a member with these variables pulls nothing of a module."""
    return off_by(name, variables) is not None


def lacks_account(variables: Mapping[str, str]) -> str | None:
    """Return the variable that is empty, so that a member asks nobody; None where all is well."""
    return next((name for name in ACCOUNT if name in variables and not variables[name]), None)


def named(members: Iterable[Member]) -> str:
    """Return the names of members."""
    return ", ".join(member.name for member in members)
