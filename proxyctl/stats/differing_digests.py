"""Why one query may have several digests: instances of other versions, or other variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from proxyctl.stats.model import SWITCH, TRACKS_CLIENTS


class DigestSource(Protocol):
    """An instance whose digests were read, or saved in a file."""

    @property
    def name(self) -> str:
        """The name of the instance in the files, or its address."""

    @property
    def version(self) -> str:
        """The version that the instance reports."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The mysql-query_digests variables in force."""


def apart_notes(instances: Sequence[DigestSource]) -> Iterator[str]:
    """Yield why one query may have several digests on these instances."""
    apart = "a query with different digests is listed once for each"
    if text := values_text(instances, lambda source: source.version):
        yield f"ProxySQL is {text}: {apart}"
    names = {name for source in instances for name in source.variables} - {SWITCH, TRACKS_CLIENTS}
    for name in sorted(names):
        if text := values_text(instances, lambda source, name=name: source.variables.get(name)):  # type: ignore[misc]
            yield f"{name} is {text}: {apart}"


def values_text(
    instances: Sequence[DigestSource], value_of: Callable[[DigestSource], str | None]
) -> str:
    """Return the values with the names of their instances; '' if all have the same."""
    names: dict[str, list[str]] = {}
    for source in instances:
        if (value := value_of(source)) is not None:
            names.setdefault(value, []).append(source.name)
    if len(names) < 2:
        return ""
    return "; ".join(f"{value} on {', '.join(who)}" for value, who in names.items())


def with_names(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Return notes about instances, each once. `notes`: the name of an instance, and a note."""
    names: dict[str, list[str]] = {}
    for name, note in notes:
        names.setdefault(note, []).append(name)
    return [f"{', '.join(who)}: {note}" for note, who in names.items()]
