"""What waits in MEMORY of the peers of a cluster, and is gone when they take over a LOAD here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from proxyctl.admin.client import AdminClient
from proxyctl.admin.lock import Lock
from proxyctl.admin.members import Members
from proxyctl.admin.runtime_facts import RuntimeFacts, read_facts
from proxyctl.catalog import AdminModule
from proxyctl.cluster.lost_edits import Waiting, dropped_at_peer, lost_at_peer
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
    ) -> list[Refusal]:
        """Return what stands against it that peers take over what these plans load.

        It is `lost_at_peer` for each, with these arguments. A peer that does not answer is named,
        and what one drops without a way to keep it.
        Raises: InstanceError.
        """
        wanted = self._taken(modules)
        if not wanted:
            return []

        def look(node: Node, contact: AdminClient) -> tuple[list[Refusal], list[str]]:
            name = f"{node[0]}:{node[1]}"
            beside = (one.leftovers for one in self.lock.beside if one.client is contact)
            leftovers = [*next(beside, {})]

            def waiting() -> dict[str, Waiting]:
                modules = [one.module for one in wanted[node]]
                return _waiting(contact, facts[node], modules, leftovers)

            def stands_against(surveyed: Mapping[str, Waiting]) -> list[Refusal]:
                return [
                    refusal
                    for one in wanted[node]
                    for refusal in lost_at_peer(
                        one,
                        surveyed[one.name],
                        name,
                        source=source,
                        discards=discards,
                    )
                ]

            surveyed = waiting()
            refusals = stands_against(surveyed)
            # A peer that takes something over just now holds it in MEMORY first.
            refusals = refusals and stands_against(waiting())
            return refusals, [*_dropped(wanted[node], surveyed, name)]

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
        found = [answers[node] for node in wanted if node in answers]
        for _, dropped in found:
            for text in dropped:
                self.members.say(text)
        return [refusal for refusals, _ in found for refusal in refusals]

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


def _dropped(
    modules: Iterable[ModulePlan], held: Mapping[str, Waiting], peer: str
) -> Iterator[str]:
    """Yield what of others a peer drops although it is saved there."""
    for module in modules:
        named = dropped_at_peer(module, held[module.name])
        if named:
            yield f"{peer}: {module.name}: drops what is not active there when it follows: {named}"


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
