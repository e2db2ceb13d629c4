"""The digests that cost most on many instances: each groups its own rows, and sums are added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from proxyctl.errors import ProxyctlError
from proxyctl.fleet.failed import Failed
from proxyctl.fleet.targets import Target, at_all
from proxyctl.stats.differing_digests import apart_notes, with_names
from proxyctl.stats.model import Load
from proxyctl.stats.top.groups import GroupPart, added, streamed_groups
from proxyctl.stats.top.model import CountedInstance, Ranking, TopOptions, counting_notes
from proxyctl.stats.top.rank import longest_text, ranked


@dataclass(frozen=True, kw_only=True)
class TopOfFleet(Ranking):
    """The list of many instances."""

    def notes(self) -> list[str]:
        """Return the remarks that belong above the list."""
        notes = (
            (instance.name, note)
            for instance in self.instances
            for note in counting_notes(instance.variables, self.options, instance.total)
        )
        return [*with_names(notes), *apart_notes(self.instances)]


# Reading them ------------------------------------------------------------------------------------
def read_top_of_fleet(
    targets: Sequence[Target],
    options: TopOptions,
    *,
    workers: int,
    done: Callable[[int], None] = lambda _count: None,
) -> TopOfFleet:
    """Return the list of all instances that can be read. Sends only SELECTs.

    An instance that is lost while its groups arrive is left out, and the others are read again.
    """
    lost: dict[str, Failed] = {}
    while True:
        reading = [target for target in targets if target.login.address not in lost]
        with ExitStack() as stack:
            answers, unread = at_all(
                reading, lambda target: _Answer(target, options), workers=workers, done=done
            )
            for answer in answers:
                stack.callback(answer.close)
            instances = [answer.instance for answer in answers]
            try:
                ranking = ranked(
                    added(
                        [(answer.instance.name, answer.parts()) for answer in answers],
                        options.groups,
                    ),
                    options,
                    total=_total(instances),
                    longest=longest_text(instances),
                )
            except _LostAnswerError as error:
                lost[error.failed.address] = error.failed
                continue
        by_address = {failure.address: failure for failure in [*unread, *lost.values()]}
        places = [target.login.address for target in targets]
        failed = [by_address[place] for place in places if place in by_address]
        return TopOfFleet(**{**vars(ranking), "instances": instances, "failed": failed})


def _total(instances: Sequence[CountedInstance]) -> Load:
    total = Load()
    for instance in instances:
        total += instance.total
    return total


class _LostAnswerError(Exception):
    """An instance was lost while its groups arrived."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.name)
        self.failed = failed


class _Answer:
    """The groups of an instance, which arrive as they are read, and its load.

    Raises: InstanceError, ConfigError.
    """

    def __init__(self, target: Target, options: TopOptions) -> None:
        self._target = target
        self._stack = ExitStack()
        try:
            client = self._stack.enter_context(target.connect())
            streamed = streamed_groups(client, options)
            self.instance, self._parts = self._stack.enter_context(streamed)
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._stack.close()

    def parts(self) -> Iterator[GroupPart]:
        """Yield the groups as they arrive. Raises: _LostAnswerError."""
        try:
            yield from self._parts
        except ProxyctlError as error:
            failed = Failed(self._target.name, self._target.login.address, error)
            raise _LostAnswerError(failed) from error
