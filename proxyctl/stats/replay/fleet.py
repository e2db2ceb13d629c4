"""Replays the digests of many instances: once for those whose rules change alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from proxyctl.errors import ExitCode
from proxyctl.fleet.failed import Failed, worst
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.plan.files import routing_change_of
from proxyctl.plan.plan import ShardMove
from proxyctl.proxysql.configuration import BeforeAfter
from proxyctl.routing.router import routing_likeness
from proxyctl.stats.replay.result import Replay, replay
from proxyctl.stats.rows_of_fleet import HeldDigests, hold_digests, merged_table
from proxyctl.stats.top.model import CountedInstance


@dataclass(frozen=True)
class RoutingChange:
    """What an apply of the files changes in the routing of some instances."""

    sides: BeforeAfter
    """RUNTIME before and after."""
    moves: Sequence[ShardMove]
    """What changes shard."""

    @property
    def likeness(self) -> str:
        """A hash that two changes share if they route every query alike and are shown alike."""
        names = sorted(self.sides.after.hostgroup_names.items())
        before = routing_likeness(self.sides.before)
        is_same = self.sides.before is self.sides.after
        after = before if is_same else routing_likeness(self.sides.after)
        return _hash([before, after, [*self.moves], names, self.sides.after.plugins])


@dataclass(frozen=True)
class AlikeReplay:
    """The replay of all digests of the instances whose rules change alike."""

    instances: Sequence[CountedInstance]
    """The instances, in the order of the files."""
    replay: Replay
    """The replay of their digests, added up."""
    moves: Sequence[ShardMove]
    """What changes shard."""

    @property
    def may_change(self) -> bool:
        """Whether anything changes or may change."""
        return self.replay.may_change or bool(self.moves)


@dataclass(frozen=True)
class ReplayOfFleet:
    """The replays of many instances."""

    replays: Sequence[AlikeReplay]
    """One replay for each change, in the order of the files."""
    failed: Sequence[Failed] = ()
    """The instances that could not be read."""

    def exit_code(self, *, differences: bool) -> ExitCode:
        """Return the worst code of all instances. `differences`: one that may change gives 2."""
        codes = [failure.error.exit_code for failure in self.failed]
        if differences and any(alike.may_change for alike in self.replays):
            codes.append(ExitCode.DIFFERENCES)
        return worst(codes)


@dataclass(frozen=True)
class FleetDigests:
    """What a replay needs of many instances."""

    groups: Sequence[tuple[RoutingChange, Sequence[HeldDigests]]]
    """The distinct changes, each with the digests of the instances that share it."""
    failed: Sequence[Failed]
    """The instances that could not be read."""


def read_fleet(
    targets: Sequence[Target],
    *,
    digests_of: Callable[[AdminClient], HeldDigests] = hold_digests,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> FleetDigests:
    """Read the rules and the digests of all instances. Sends only SELECTs.

    `digests_of`: returns the digests of an instance, by default those that it holds.
    Equal changes are kept once: a hundred instances mostly share one. See `at_all`.
    """
    distinct: dict[str, RoutingChange] = {}

    def work(target: Target) -> tuple[str, HeldDigests]:
        with target.connect() as client:
            change = RoutingChange(*routing_change_of(client, target.files))
            held = digests_of(client)
        likeness = _hash([change.likeness, sorted(held.instance.variables.items())])
        distinct.setdefault(likeness, change)
        return likeness, held

    read, failed = at_all(targets, work, workers=workers, done=done)
    groups: dict[str, list[HeldDigests]] = {}
    for likeness, held in read:
        groups.setdefault(likeness, []).append(held)
    return FleetDigests([(distinct[likeness], group) for likeness, group in groups.items()], failed)


def replay_fleet(
    fleet: FleetDigests,
    *,
    limit: int = 20,
    done: Callable[[int], None] = lambda _count: None,
) -> ReplayOfFleet:
    """Replay every digest once for each change. `limit`: as for `replay`.

    `done`: called with the number of changes that were replayed. Raises: as `replay`.
    """
    replays: list[AlikeReplay] = []
    for count, (change, group) in enumerate(fleet.groups, 1):
        report = replay(merged_table(group), change.sides, limit=limit)
        replays.append(AlikeReplay([held.instance for held in group], report, change.moves))
        done(count)
    return ReplayOfFleet(replays, fleet.failed)


def _hash(content: object) -> str:
    return sha256(repr(content).encode("utf-8", "surrogateescape")).hexdigest()
