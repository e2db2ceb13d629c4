"""Instances of a fleet that change as one: an instance alone, or the members of one cluster.

In a cluster one member is changed, and the others follow by themselves. Then what does not travel
is written to each of them, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proxyctl.admin.client import AdminClient
from proxyctl.admin.cluster import read_own_checksums, read_peers
from proxyctl.admin.host_names import addresses_of_each
from proxyctl.admin.login import Login
from proxyctl.admin.members import WORKERS, same_account
from proxyctl.admin.own_address import read_itself
from proxyctl.applying import DEFAULT_PEERS, ApplyRequest, PeerRules, apply_files
from proxyctl.at_once import at_once
from proxyctl.cluster.behind import PeersBehind
from proxyctl.cluster.checksums import MODULES, Checksum
from proxyctl.cluster.electing import (
    first_of,
    is_covered,
    loaded_for_all,
    together,
    travels_alike,
)
from proxyctl.cluster.namesakes import namesakes
from proxyctl.errors import ApplyError, ProxyctlError, RefusedError
from proxyctl.families import Node
from proxyctl.fleet.outcome import Planned
from proxyctl.fleet.rollout import WELL, Rolled, State
from proxyctl.fleet_planning import Target
from proxyctl.plan import Plan
from proxyctl.render.apply_text import peer_lines
from proxyctl.render.fleet_text import changed_first
from proxyctl.result import ApplyResult
from proxyctl.workflow import plan_files


@dataclass(frozen=True)
class Unit:
    """Instances that change as one: several are members of one cluster.

    `left_out`: instances that could not be read; they may be members as well. `listed_as`: as what
    those are listed that are reached by another address, a socket or a tunnel, once they are asked.
    """

    targets: Sequence[Target]
    left_out: Sequence[Target] = ()
    listed_as: dict[Target, Node] = field(default_factory=dict)

    @property
    def names(self) -> str:
        """Who they are, for people."""
        listed = " + ".join(target.name for target in self.targets)
        return f"{listed} (one ProxySQL Cluster)" if len(self.targets) > 1 else listed

    def peer_rules(self, rules: PeerRules) -> PeerRules:
        """Return how members are reached, and waited for, when one of these is changed."""
        if len(self.targets) > 1 and not rules.timeout_s:
            # The next one would be changed while it is behind this one, and refused for that.
            rules = replace(rules, timeout_s=DEFAULT_PEERS.timeout_s)
        return replace(rules, login_at=self._login_at)

    def _login_at(self, here: Login, node: Node) -> Login:
        """Return who we are at a member: as the fleet says, or as we are here."""
        named = self.targets_at([node]).get(node)
        if named is None:
            return same_account(here, node)
        # The rest of the cluster knows it by this address.
        return replace(named.login, host=str(node[0]), port=int(node[1] or 0), socket=None)

    def targets_at(self, nodes: Collection[Node]) -> dict[Node, Target]:
        """Return the instances that members are, also those that are left out.

        Shape: without members that are no instance, or one of which it is not known.
        """
        listed = [*self.targets, *self.left_out]
        known: dict[Node, Target] = {
            (one.login.host, one.login.port): one for one in listed if one.login.socket is None
        }
        known |= {node: one for one, node in self.listed_as.items()}
        found = namesakes(nodes, known, addresses_of_each)
        return {node: known[named] for node, named in found.items()}

    def ask_for_itself(self, target: Target, client: AdminClient) -> None:
        """Find out as what an instance is listed, where its address does not say it.

        Changes: listed_as. Raises: InstanceError.
        """
        listed = read_peers(client)
        if target not in self.targets_at(listed).values():
            itself = read_itself(client, listed)
            if itself is not None:
                self.listed_as[target] = itself


def units_of(approved: Mapping[Target, Planned], left_out: Sequence[Target] = ()) -> list[Unit]:
    """Return the instances that change as one, without those where nothing does."""
    targets = [*approved]
    groups = together([approved[target].members for target in targets])
    units = [Unit([targets[position] for position in group], left_out) for group in groups]
    return [u for u in units if not all(approved[one].is_in_sync for one in u.targets)]


@dataclass
class UnitApply:
    """One unit under way. `done` says what became of those that were come to, in that order.

    `approved` has the plan of each instance. `say` is told what is under way.
    """

    unit: Unit
    approved: Mapping[Target, Planned]
    request: ApplyRequest
    say: Callable[[str], None]
    done: dict[Target, Rolled] = field(default_factory=dict)
    _behind: PeersBehind = field(default_factory=lambda: PeersBehind(addresses_of_each))
    _at: Target = field(init=False)

    def __post_init__(self) -> None:
        self._at = self.unit.targets[0]

    def run(self) -> dict[Target, Rolled]:
        """Apply to one after the other until one fails, and return what became of them."""
        try:
            targets = self._in_order()
            for self._at in targets:
                self.done[self._at] = self._applied(self._at, is_first=self._at is targets[0])
        except Exception as error:
            # What is done already keeps its snapshot: it can go back.
            kept = error.snapshot if isinstance(error, ApplyError) else None
            self.done[self._at] = replace(
                rolled(self._at, State.FAILED), error=self._told(error), snapshot=kept
            )
            self._name_those_that_followed()
        self._name_those_behind()
        return self.done

    def _told(self, error: Exception) -> ProxyctlError:
        """Return what to say of an error; after a bug nobody knows what the layers hold."""
        said = self._at.told(error)
        if isinstance(error, ProxyctlError):
            return said
        unknown = "what it has changed there is not known; plan says what differs from the files"
        return ApplyError(said.message, then=[unknown], hint=said.hint)

    def _in_order(self) -> list[Target]:
        """Return the instances, first the member that the others are to follow.

        Raises: RefusedError where members are to hold different content; InstanceError.
        """
        targets = [*self.unit.targets]
        if len(targets) == 1:
            return targets
        held: list[Mapping[str, Checksum]] = []
        for self._at in targets:
            with self._at.connect() as client:
                held.append(read_own_checksums(client))
                self.unit.ask_for_itself(self._at, client)
        plans = [self.approved[target].plan for target in targets]
        chosen = first_of(plans, held)
        first = targets[chosen]
        self._refuse_different_files(first)
        rest = [target for target in targets if target is not first]
        said = changed_first(self.approved[first], [self.approved[target] for target in rest])
        if said:
            self.say(said)
        return [first, *rest]

    def _refuse_different_files(self, first: Target) -> None:
        """Refuse members whose files, by their `vars`, differ in what travels between them."""
        others = {id(one.files): one for one in self.unit.targets if one.files is not first.files}
        if not others:
            return
        options = self.request.options
        self._at = first
        with first.connect() as client:
            plan = plan_files(client, first.files, options)
            for other in others.values():
                if not travels_alike(plan, plan_files(client, other.files, options)):
                    if self.approved[first].is_in_sync:
                        self._at = other  # nothing is to change at the first one
                    raise RefusedError(
                        f"{first.name} and {other.name} are members of one ProxySQL Cluster, and"
                        " their files differ in what members take over from one another",
                        hint="let `vars` of the instances decide only over what does not travel",
                    )

    def _applied(self, target: Target, *, is_first: bool) -> Rolled:
        approved = self.approved[target]

        def is_approved(plan: Plan) -> bool:
            # A peer of a cluster may have brought some of it here already.
            return (
                plan.is_in_sync
                or plan.fingerprint == approved.fingerprint
                or (not is_first and is_covered(plan, approved.plan))
            )

        request = replace(
            self.request,
            is_approved=is_approved,
            progress=lambda text: self.say(f"{target.name}: {text}"),
            peers=self.unit.peer_rules(self.request.peers),
        )
        with target.connect() as client:
            plan, result = apply_files(client, target.files, request)
        if result is None:
            follows = not (is_first or approved.is_in_sync)
            return rolled(target, State.FOLLOWED if follows else State.IN_SYNC)
        loaded = frozenset(module.name for module in plan.modules if module.images)
        self._behind.note(result.peers, loaded)
        return replace(
            rolled(target, State.APPLIED),
            snapshot=result.snapshot,
            loaded=loaded,
            notes=told_of(result, self.unit.targets_at([peer.node for peer in result.peers])),
        )

    def _name_those_that_followed(self) -> None:
        """Say of the other members what they hold of the change after one failed. Changes: done."""
        self._name_those_that_go_back()
        loaded = [
            target.name
            for target, one in self.done.items()
            if one.loaded & {*MODULES.values()} or self._may_have_loaded(target, one)
        ]
        rest = [
            target
            for target in self.unit.targets
            if target not in self.done and not self.approved[target].is_in_sync
        ]
        if loaded:
            for target, found in at_once(rest, self._compared, workers=WORKERS):
                self.done[target] = self._come_to_by_none(target, found, ", ".join(loaded))

    def _name_those_that_go_back(self) -> None:
        """Say who may take over what the one that failed was loaded with again. Changes: done.

        That is the newest then. Who follows by now does not for long, nor is in sync who was.
        """
        for target in self.unit.targets:
            in_sync = rolled(target, State.IN_SYNC) if self.approved[target].is_in_sync else None
            one = self.done.get(target, in_sync)
            note = self._goes_back(target)
            if note and one is not None and one.state in WELL:
                state = one.state if one.state is State.APPLIED else State.NOT_TOUCHED
                self.done[target] = replace(one, state=state, notes=(*one.notes, note))

    def _goes_back(self, target: Target) -> str:
        """Return what a member may take over from the one that failed and was put back."""
        error = self.done[self._at].error
        reloaded = error.reloaded if isinstance(error, ApplyError) else frozenset[str]()
        untaken = self.approved[target].plan.untaken
        taken = sorted(({*reloaded} & {*MODULES.values()}) - {*untaken})
        if not taken or target is self._at:
            return ""
        what = f"what {self._at.name} was loaded with again, as before: {', '.join(taken)}"
        return f"it may take over {what}; plan says what is left"

    def _may_have_loaded(self, target: Target, one: Rolled) -> bool:
        plans = [self.approved[target].plan]
        return isinstance(one.error, ApplyError) and bool(loaded_for_all(plans))

    def _compared(self, target: Target) -> Plan:
        with target.connect() as client:
            return plan_files(client, target.files, self.request.options)

    def _come_to_by_none(self, target: Target, found: Plan | BaseException, loaded: str) -> Rolled:
        """Return what a member is that may have followed, by its plan now, or why it has none."""
        goes_back = self._goes_back(target)
        is_as_before = isinstance(found, Plan) and travels_alike(found, self.approved[target].plan)
        if is_as_before and goes_back:
            return rolled(target, State.NOT_TOUCHED)
        if isinstance(found, Plan) and goes_back:
            note = goes_back
        elif isinstance(found, Plan) and found.is_in_sync:
            return rolled(target, State.FOLLOWED)
        elif is_as_before:
            note = f"it may still take over what {loaded} was loaded with"
        elif isinstance(found, Plan):
            note = f"it has taken over what {loaded} was loaded with; plan says what is left"
        elif isinstance(found, Exception):
            problem = target.told(found).message
            note = f"whether it took over what {loaded} was loaded with is not known: {problem}"
        else:
            raise found
        return replace(rolled(target, State.NOT_TOUCHED), notes=(note,))

    def _name_those_behind(self) -> None:
        """Say which members do not follow that are no instance of the fleet. Changes: done.

        Those of the unit were applied to, or failed; that one is left out is said of itself.
        """
        known = self.unit.targets_at(self._behind.nodes)
        reasons = [
            line.strip() for peer in self._behind.without(known) for line in peer_lines(peer)
        ]
        if reasons:
            first = next(one for one in self.done if self.done[one].state is State.APPLIED)
            self.done[first] = replace(
                self.done[first], state=State.PEERS_BEHIND, reasons=tuple(reasons)
            )


def told_of(result: ApplyResult, written: Collection[Node] = ()) -> tuple[str, ...]:
    """Return what is to be known of an apply, and of the peers that follow.

    `written`: peers that get by themselves what following leaves undone.
    """
    following = (peer for peer in result.peers if peer.follows and peer.node not in written)
    of_peers = (f"peer {peer.name}: {note}" for peer in following for note in peer.notes)
    return (*result.notes, *of_peers)


def rolled(target: Target, state: State) -> Rolled:
    """Return what became of an instance, with nothing more to say."""
    return Rolled(target.name, target.login.address, state)
