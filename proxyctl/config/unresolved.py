"""Whether what files refer to is at hand: other files, and variables of the environment.

A look only. What is wrong with a reference, and where it stands, is found when it is resolved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from proxyctl.config.fenced import Fence, UnreadableError, is_readable
from proxyctl.config.sections import TABLE_SECTIONS, Part
from proxyctl.config.yaml_reader import YamlList, YamlMap

_SECTIONS = (*TABLE_SECTIONS, "variables", "hostgroups", "pxc_clusters")


def may_be_unresolved(parts: Mapping[str, Sequence[Part]], fence: Fence) -> bool:
    """Return whether a file cannot be opened, or a variable is not set.

    Also for a mapping in a JSON column that only looks like a reference.
    """
    return any(
        not _is_at_hand(part, kind, argument, fence)
        for name in _SECTIONS
        for part in parts.get(name, ())
        for kind, argument in _references([part.value])
    )


def _references(values: Iterable[object]) -> Iterator[tuple[str, str]]:
    """Yield the kind and the argument of every reference in these values."""
    for value in values:
        if value.__class__ is YamlList:
            yield from _references(value)
        elif value.__class__ is YamlMap:
            found: Mapping[str, object] = value
            if len(found) == 1:
                ((kind, argument),) = found.items()
                if isinstance(argument, str):
                    yield kind, argument
            yield from _references(found.values())


def _is_at_hand(part: Part, kind: str, argument: str, fence: Fence) -> bool:
    if kind == "env":
        return argument in os.environ
    if kind not in ("file", "csv", "jsonl"):
        return True
    try:
        path = fence.path(argument, os.path.dirname(part.document.path))
    except UnreadableError:
        return False
    return is_readable(path, fence=fence)
