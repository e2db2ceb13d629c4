"""Files -> sections by name, each with its place. What a section means stands in `sections`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from proxyctl.catalog import NOT_MANAGED, TABLES
from proxyctl.config.mistakes import Mistakes, described
from proxyctl.config.yaml import Document, Unusable, YamlList, YamlMap
from proxyctl.state.row import Where

SPECIAL = (
    "version",
    "instances",
    "variables",
    "hostgroups",
    "pxc_clusters",
    "sharding",
    "routing_tests",
    "manage",
    "guards",
    "lint",
    "keep_fast_routing_alive",
)
"""The sections that are more than a table."""

TABLE_SECTIONS = tuple(name for name, table in TABLES.items() if table.prefix is None)

_LISTS = frozenset({"instances", "pxc_clusters", "sharding", "routing_tests", *TABLE_SECTIONS})

_SCALARS = frozenset({"version", "keep_fast_routing_alive"})


@dataclass(frozen=True)
class Part:
    """A section, as one file has it."""

    document: Document
    name: str
    value: Any

    def where(self, *keys: str | int, of_key: bool = False) -> Where:
        """Return the place of a value in the section, or of its key."""
        return self.document.where((self.name, *keys), of_key=of_key)


def split(documents: Iterable[Document], mistakes: Mistakes) -> dict[str, list[Part]]:
    """Return the sections by name, one part a file. Changes: mistakes."""
    parts: dict[str, list[Part]] = {}
    for document in documents:
        root = document.root
        if root is None or isinstance(root, Unusable):
            continue
        if not isinstance(root, YamlMap):
            # What stands there instead may be anything, also what a template read elsewhere.
            message = f"expected a mapping of sections, got {described(root, is_secret=True)}"
            mistakes.add(document.where(()), "", message)
            continue
        for name, value in root.items():
            part = Part(document, name, value)
            if _fits(part, mistakes):
                parts.setdefault(name, []).append(part)
    return parts


def _fits(part: Part, mistakes: Mistakes) -> bool:
    """Return whether the section exists and has the right shape. Changes: mistakes."""
    name, value = part.name, part.value
    if name not in SPECIAL and name not in TABLE_SECTIONS:
        reason = NOT_MANAGED.get(name)
        message = f"proxyctl does not manage it: {reason}" if reason else "no such section"
        hint = None if reason else mistakes.did_you_mean(name, SPECIAL, TABLE_SECTIONS)
        mistakes.add(part.where(of_key=True), name, message, hint)
        return False
    if isinstance(value, Unusable):
        return False
    if value is None:
        hint = "remove the key to leave it alone"
        if name in TABLE_SECTIONS:
            hint += ", or write [] for a table without rows"
        mistakes.add(part.where(of_key=True), name, "the section is empty", hint)
        return False
    is_file = name in TABLE_SECTIONS and isinstance(value, YamlMap)
    shape = "a list" if name in _LISTS else "a mapping"
    fits = isinstance(value, YamlList if name in _LISTS else YamlMap)
    if fits or is_file or name in _SCALARS:
        return True
    mistakes.add(part.where(), name, f"expected {shape}, got {described(value, is_secret=True)}")
    return False


def check_version(part: Part, mistakes: Mistakes) -> None:
    """Note a version of the file format that is not known. Changes: mistakes."""
    if type(part.value) is not int or part.value != 1:
        mistakes.add(part.where(), "version", f"expected 1, got {described(part.value)}")
