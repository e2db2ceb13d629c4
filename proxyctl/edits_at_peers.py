"""What waits in MEMORY of the peers of a cluster, and is gone when they take over a LOAD here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.members import Members
from proxyctl.admin.runtime_facts import RuntimeFacts, read_facts
from proxyctl.catalog import AdminModule
from proxyctl.cluster.lost_edits import Waiting, lost_at_peer
from proxyctl.cluster.membership import Membership
from proxyctl.cluster.travelling import loads_nothing_that_travels
from proxyctl.families import Node
from proxyctl.instance_survey import survey_as_nobodys
from proxyctl.plan import ModulePlan, Refusal
from proxyctl.state import FILES, Source


@dataclass(frozen=True)
class EditsAtPeers:
    """The peers, as they were looked at under their locks."""

    members: Members
    membership: Membership
    lock: Lock

    def lost(
        self,
        modules: Iterable[ModulePlan],
        *,
        source: Source = FILES,
        discards: bool = False,
        includes: bool = False,
    ) -> list[Refusal]:
        """Return what stands against it that peers take over what these plans load.

        It is `lost_at_peer` for each, with these arguments. A peer that does not answer is named.
        Raises: InstanceError.
        """
        wanted = self._taken(modules)
        if not wanted:
            return []

        def look(node: Node, contact: AdminClient) -> list[Refusal]:
            name = f"{node[0]}:{node[1]}"
            beside = (one.leftovers for one in self.lock.beside if one.client is contact)
            leftovers = next(beside, frozenset())

            def found() -> list[Refusal]:
                modules = [one.module for one in wanted[node]]
                surveyed = _waiting(contact, facts[node], modules, leftovers)
                return [
                    refusal
                    for one in wanted[node]
                    for refusal in lost_at_peer(
                        one,
                        surveyed[one.name],
                        name,
                        source=source,
                        discards=discards,
                        includes=includes,
                    )
                ]

            # A peer that takes something over just now holds it in MEMORY first.
            return found() and found()

        # All tables were read here meanwhile, which may have taken long, as it may at a peer.
        self.lock.renew(at_once=True)
        facts = self.members.answers([*wanted], lambda _node, contact: read_facts(contact))
        with self.members.as_patient_as(self.lock.client.login.read_timeout_s):
            answers = self.members.answers([*facts], look)
        for node in wanted.keys() - answers.keys():
            problem = self.members.problems.get(node, "")
            self.members.say(
                f"{node[0]}:{node[1]}: what waits in its MEMORY is not known ({problem})"
            )
        return [refusal for node in wanted for refusal in answers.get(node, ())]

    def _taken(self, modules: Iterable[ModulePlan]) -> Mapping[Node, list[ModulePlan]]:
        """Return what each peer takes over from here."""
        taken: dict[Node, list[ModulePlan]] = {}
        for module in modules:
            name = self.membership.name_of(module.name)
            if name is None or not module.images:
                continue
            own = self.membership.own[name].checksum
            is_idle = loads_nothing_that_travels(module)
            for one in self.membership.others:
                if is_idle and name in one.checksums and one.checksums[name].checksum == own:
                    continue
                if self.membership.is_followed_by(one, name):
                    taken.setdefault(one.node, []).append(module)
        return taken


def _waiting(
    client: AdminClient,
    facts: RuntimeFacts,
    modules: Collection[AdminModule],
    leftovers: Collection[str],
) -> dict[str, Waiting]:
    """Return what a peer holds of these admin modules. Raises: InstanceError."""
    survey = survey_as_nobodys(client, facts)
    names = {one.partition(": ")[0] for one in leftovers}
    return {
        module.name: Waiting(survey.module(module, managed_only=False), module.name in names)
        for module in modules
    }
