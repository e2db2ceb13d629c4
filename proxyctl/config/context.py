"""What one run over the files shares, and the sections that it goes over."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proxyctl.catalog import (
    NO_DEVIATIONS,
    NOT_MANAGED,
    REFERENCE,
    TABLES,
    Deviations,
    Layout,
    Version,
    known_version,
    parse_version,
)
from proxyctl.catalog.releases import NEWEST_KNOWN, tier_text
from proxyctl.config.files import Fence, UnreadableError
from proxyctl.config.mistakes import Mistakes, described, key_text, shown
from proxyctl.config.references import References, near_variable
from proxyctl.config.yaml import Document, Unusable, YamlList, YamlMap
from proxyctl.state.row import Secret, Where

Keys = tuple[str | int, ...]
"""The path to a value in a section."""

UNKNOWN_SECRET = Secret("unknown:unknown")
"""Stands for an unavailable secret; it reads as a password and as a list of logins."""


@dataclass
class Context:
    """One run over the files.

    Shape: `hostgroups` from name to number, filled by the `hostgroups` section; the names whose
    number is wrong are `broken_hostgroups`. `layouts` of the tables that the version has, by name.
    `needs_secrets`, `takes_dead_rules`, `deviations`: see `ParsedFiles.project`; without the first,
    an unavailable secret is UNKNOWN_SECRET.
    """

    version: Version
    fence: Fence = field(default_factory=Fence)
    needs_secrets: bool = True
    mistakes: Mistakes = field(default_factory=Mistakes)
    takes_dead_rules: bool = False
    warnings: list[str] = field(default_factory=list)
    hostgroups: dict[str, int] = field(default_factory=dict)
    broken_hostgroups: set[str] = field(default_factory=set)
    deviations: Deviations = NO_DEVIATIONS
    layouts: dict[str, Layout] = field(init=False)

    def __post_init__(self) -> None:
        self.layouts = self.deviations.layouts(self.version)

    def note(
        self, part: Part, keys: Keys, message: str, fix: str | None = None, *, of_key: bool = False
    ) -> None:
        """Note a mistake at a value of a section, or at its key. Changes: self.mistakes."""
        where = part.where(*keys, of_key=of_key)
        self.mistakes.add(where, key_text((part.name, *keys)), message, fix)

    def claim_name(
        self, known: dict[str, Where], name: str, part: Part, keys: Keys, *, of_key: bool = False
    ) -> bool:
        """Return whether a name is new, and note a duplicate. Changes: known, self.mistakes.

        Shape: `keys` begin with the item that has the name.
        """
        place = part.where(*keys[:1], of_key=of_key)
        first = known.setdefault(name, place)
        if first is not place:
            self.note(part, keys, f"duplicate name (first defined at {first})", of_key=of_key)
        return first is place

    def text(
        self, reference: Mapping[str, str], where: Where, label: str, *, is_secret: bool = False
    ) -> str | None:
        """Return the text that a reference stands for; None after a mistake."""
        references = References(os.path.dirname(where.path), self.fence)
        try:
            return references.resolve(reference, is_secret=is_secret)
        except UnreadableError as error:
            if is_secret and not self.needs_secrets:
                return UNKNOWN_SECRET
            fix = error.fix or near_variable(reference, self.mistakes.did_you_mean)
            self.mistakes.add(where, label, error.message, fix)
            return None

    def hostgroup(self, value: int | str, where: Where, label: str) -> int | None:
        """Return the number of a hostgroup; None after a mistake. Changes: self.mistakes.

        One whose number is wrong is a mistake already.
        """
        if isinstance(value, int):
            return value
        number = self.hostgroups.get(value)
        if (
            number is None
            and not isinstance(value, Unusable)
            and value not in self.broken_hostgroups
        ):
            near = self.mistakes.did_you_mean(value, self.hostgroups, self.broken_hostgroups)
            fix = "remove the quotes" if value.isdecimal() else near or "name it under `hostgroups`"
            self.mistakes.add(where, label, f"no hostgroup is called {shown(value)}", fix)
        return number


# Sections ----------------------------------------------------------------------------------------

SPECIAL = (
    "version",
    "proxysql_version",
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

_SCALARS = frozenset({"version", "proxysql_version", "keep_fast_routing_alive"})


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
            # The value may be anything, even a secret that a template has read.
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
        reason = NOT_MANAGED.get(name) or tier_text(name)
        message = f"proxyctl does not manage it: {reason}" if reason else "no such section"
        fix = None if reason else mistakes.did_you_mean(name, SPECIAL, TABLE_SECTIONS)
        mistakes.add(part.where(of_key=True), name, message, fix)
        return False
    if isinstance(value, Unusable):
        return False
    if value is None:
        fix = "remove the key to leave it alone"
        if name in TABLE_SECTIONS:
            fix += ", or write [] for a table without rows"
        mistakes.add(part.where(of_key=True), name, "the section is empty", fix)
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


def named_version(parts: Iterable[Part], mistakes: Mistakes) -> Version | None:
    """Return the ProxySQL that the files name; None without one. Changes: mistakes.

    It may be newer than the newest that the catalogue knows.
    """
    found: Version | None = None
    first: Where | None = None
    for part in parts:
        try:
            version = _version(part.value)
        except ValueError as error:
            mistakes.add(part.where(), part.name, str(error), f"write it like {REFERENCE}")
            continue
        if first is None:
            found, first = version, part.where()
        elif version != found:
            message = f"{version} differs from {found} at {first}"
            mistakes.add(
                part.where(),
                part.name,
                message,
                "all files describe the same ProxySQL, so they name one version",
            )
    return found


def _version(value: object) -> Version:
    """Return a version that somebody wrote. Raises: ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"expected a version, got {described(value)}")
    try:
        return known_version(value)
    except ValueError:
        if re.match(r"[0-9]", value) and parse_version(value) > NEWEST_KNOWN:
            return parse_version(value)
        raise
