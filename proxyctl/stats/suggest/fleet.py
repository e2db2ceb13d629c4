"""Suggestions from the digests of many instances that run the same rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from proxyctl.config.project import Project
from proxyctl.errors import ExitCode, InstanceError, RefusedError
from proxyctl.fleet.failed import Failed, worst_of
from proxyctl.fleet.targets import Target, at_all
from proxyctl.instance.client import AdminClient
from proxyctl.proxysql.configuration import Configuration
from proxyctl.routing.router import routing_likeness
from proxyctl.stats.model import SWITCH
from proxyctl.stats.rows_of_fleet import HeldDigests, hold_digests, merged_table
from proxyctl.stats.suggest.context import Suggestions
from proxyctl.stats.suggest.files import SuggestInput, rules_of_instance
from proxyctl.stats.suggest.kind import SuggestionKind
from proxyctl.stats.suggest.run import suggest
from proxyctl.stats.top.model import CountedInstance


@dataclass(frozen=True)
class SuggestionsOfFleet:
    """The suggestions for many instances."""

    suggestions: Suggestions
    """The suggestions."""
    instances: Sequence[CountedInstance]
    """The instances whose digests were added up."""
    failed: Sequence[Failed]
    """The instances that could not be read."""

    @property
    def exit_code(self) -> ExitCode:
        """The worst code of the instances that could not be read."""
        return worst_of(self.failed)


@dataclass(frozen=True)
class _ReadInstance:
    held: HeldDigests
    configuration: Configuration
    project: Project | None
    likeness: str

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that decide which digest a query has."""
        return {name: value for name, value in self.instance.variables.items() if name != SWITCH}

    @property
    def instance(self) -> CountedInstance:
        return self.held.instance


def suggest_for_fleet(
    targets: Sequence[Target],
    *,
    only: Collection[SuggestionKind] = (),
    limit: int = 5,
    digests_of: Callable[[AdminClient], HeldDigests] = hold_digests,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> SuggestionsOfFleet:
    """Return the suggestions. Sends only SELECTs.

    `digests_of`: returns the digests of an instance, by default those that it holds.
    The rules are those at RUNTIME, which all instances must share. Raises: RefusedError when their
    versions, rules or digest variables differ; InstanceError when none can be read; as `suggest`.
    """

    def work(target: Target) -> _ReadInstance:
        with target.connect() as client:
            configuration, project = rules_of_instance(client, target.files)
            held = digests_of(client)
        return _ReadInstance(held, configuration, project, routing_likeness(configuration))

    read, failed = at_all(targets, work, workers=workers, done=done)
    if not read:
        reasons = [
            f"{failure.name}: {line}" for failure in failed for line in failure.error.lines()
        ]
        raise InstanceError("no instance could be read", then=reasons)
    _refuse_differences(read)
    first, instances = read[0], [answer.instance for answer in read]
    table = merged_table([answer.held for answer in read])
    subject = SuggestInput(table, first.configuration, first.project)
    found = suggest(
        table,
        first.configuration,
        only=only,
        limit=limit,
        may_use=subject.may_use,
        seconds=sum(max(instance.taken_at - instance.began_at, 1) for instance in instances),
    )
    if len(read) > 1 and any(
        suggestion.kind is SuggestionKind.CACHE for suggestion in found.suggestions
    ):
        note = "cache: queries per second are for one instance: each instance has its own cache"
        found = replace(found, notes=[*found.notes, note])
    return SuggestionsOfFleet(found, instances, failed)


def _refuse_differences(read: Sequence[_ReadInstance]) -> None:
    """Refuse instances that do not route and count alike. Raises: RefusedError."""
    first = read[0]
    apply = "bring them in line with apply --all, or choose one with --instance"
    reasons: list[tuple[str, str, Callable[[_ReadInstance], object]]] = [
        ("a different version", "choose one with --instance", attrgetter("instance.version")),
        ("different rules, users or routing variables", apply, attrgetter("likeness")),
        ("different mysql-query_digests variables", apply, attrgetter("variables")),
    ]
    for reason, fix, value_of in reasons:
        others = [answer.instance.name for answer in read if value_of(answer) != value_of(first)]
        if others:
            names = [answer.instance.name for answer in read if answer.instance.name not in others]
            raise RefusedError(
                f"{', '.join(others)}: {reason} than {', '.join(names)}, so no suggestion fits all",
                fix=fix,
            )
