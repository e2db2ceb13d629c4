"""The state of one run over the files, and the sections of the files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
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
from proxyctl.config.env_references import UNKNOWN_SECRET, SecretCommands, resolve
from proxyctl.config.mistakes import Mistakes, ValueProblem, described, key_text
from proxyctl.config.sources import Fence
from proxyctl.config.yaml import Document, Unusable, YamlList, YamlMap
from proxyctl.rows.row import Secret, Where
from proxyctl.text import shown

SectionPath = tuple[str | int, ...]
"""The path to a value in a section."""


@dataclass
class Compilation:
    """One run over the files."""

    version: Version
    """The ProxySQL that the files are compiled for."""
    fence: Fence = field(default_factory=Fence)
    """The folders that must hold the files that references name."""
    needs_secrets: bool = True
    """See `ConfigFiles.project`. If False, an unavailable secret is UNKNOWN_SECRET."""
    commands: SecretCommands | None = None
    """Runs the commands that print secrets. If None, each prints UNKNOWN_SECRET."""
    mistakes: Mistakes = field(default_factory=Mistakes)
    """The mistakes found so far."""
    takes_dead_rules: bool = False
    """See `ConfigFiles.project`."""
    warnings: list[str] = field(default_factory=list)
    """The warnings so far."""
    hostgroups: dict[str, int] = field(default_factory=dict)
    """The number of each hostgroup by name, filled by the `hostgroups` section."""
    names: dict[tuple[str, str], Where] = field(default_factory=dict)
    """The first place of a name, by section and name."""
    deviations: Deviations = NO_DEVIATIONS
    """See `ConfigFiles.project`."""
    named: Version | None = None
    """The ProxySQL that the files name, if they are compiled for the nearest known release."""
    layouts: dict[str, Layout] = field(init=False)
    """The tables that the version has, by name."""

    def __post_init__(self) -> None:
        self.layouts = self.deviations.layouts(self.version)

    def note(
        self,
        part: FileSection,
        keys: SectionPath,
        message: str,
        fix: str | None = None,
        *,
        of_key: bool = False,
    ) -> None:
        """Note a mistake at a value of a section, or at its key. Changes: self.mistakes.

        An empty message notes nothing: the mistake is noted elsewhere.
        """
        if message:
            self.mistakes.add(part.where(*keys, of_key=of_key), part.label(keys), message, fix)

    def text(
        self, reference: Mapping[str, Any], path: str, *, is_secret: bool = False
    ) -> str | Secret:
        """Return the text of a reference in the file `path`. Raises: ValueProblem."""
        folder, commands = os.path.dirname(path), self.commands if self.needs_secrets else None
        try:
            return resolve(reference, folder, self.fence, is_secret=is_secret, commands=commands)
        except ValueProblem:
            if is_secret and not self.needs_secrets:
                return UNKNOWN_SECRET
            raise

    def hostgroup(self, name: str) -> int:
        """Return the number of a hostgroup. Raises: ValueProblem."""
        if name in self.hostgroups:
            return self.hostgroups[name]
        near = self.mistakes.did_you_mean(name, self.hostgroups)
        fix = "remove the quotes" if name.isdecimal() else near or "name it under `hostgroups`"
        raise ValueProblem(f"no hostgroup is called {shown(name)}", fix)


# Sections ----------------------------------------------------------------------------------------

SPECIAL = {
    "version": "Version of the file format.",
    "proxysql_version": "The ProxySQL that the files are for, if no instance is read.",
    "instances": "The ProxySQL instances, and how to reach their admin interfaces.",
    "variables": "Variables to set. Those that are not named are left alone.",
    "hostgroups": "Names for hostgroup numbers, and attributes of hostgroups.",
    "pxc_clusters": "Percona XtraDB Clusters: mysql_galera_hostgroups and mysql_servers together.",
    "sharding": "Tables or schemas spread over hostgroups: query rules, or fast routing.",
    "routing_tests": "Queries, and where they have to go.",
    "manage": "The part of a table that these files own, and columns that count only at INSERT.",
    "policies": "House rules: expressions that must hold for rows, or for changes.",
    "guards": "What an apply refuses to do without --force.",
    "lint": "What `proxyctl lint` leaves out.",
    "keep_fast_routing_alive": "Add a rule if fast routing would be skipped.",
}
"""The sections that are more than a table, and their descriptions."""

TABLE_SECTIONS = tuple(name for name, table in TABLES.items() if table.prefix is None)

_LISTS = frozenset(
    {"instances", "pxc_clusters", "sharding", "routing_tests", "policies", *TABLE_SECTIONS}
)

_SCALARS = frozenset({"version", "proxysql_version", "keep_fast_routing_alive"})


@dataclass(frozen=True)
class FileSection:
    """A section of one file."""

    document: Document
    name: str
    value: Any

    @property
    def path(self) -> str:
        """The file."""
        return self.document.path

    def where(self, *keys: str | int, of_key: bool = False) -> Where:
        """Return the place of a value in the section, or of its key."""
        return self.document.where((self.name, *keys), of_key=of_key)

    def label(self, keys: SectionPath) -> str:
        """Return the name of a value in messages: `pxc_clusters[0].nodes[1].weight`."""
        return key_text((self.name, *keys))

    def at(self, keys: SectionPath) -> Any:  # noqa: ANN401 - any YAML value
        """Return the value under keys; None if a key is absent."""
        value = self.value
        for key in keys:
            is_list = isinstance(value, list) and isinstance(key, int)
            is_there = key in value if isinstance(value, dict) else is_list
            value = value[key] if is_there else None
        return value


@dataclass(frozen=True)
class Lines(FileSection):
    """The rows of a table section in a file of their own."""

    lines: Sequence[int]
    """The line of each row."""

    def where(self, *keys: str | int, of_key: bool = False) -> Where:  # noqa: ARG002
        """Return the line of a row."""
        return Where(self.path, self.lines[int(keys[0])], 1)

    def label(self, keys: SectionPath) -> str:
        """Return the name of a column, and the keys below it."""
        return key_text(keys[1:])


def split(documents: Iterable[Document], mistakes: Mistakes) -> dict[str, list[FileSection]]:
    """Return the sections by name, one part per file. Changes: mistakes."""
    parts: dict[str, list[FileSection]] = {}
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
            part = FileSection(document, name, value)
            if _fits(part, mistakes):
                parts.setdefault(name, []).append(part)
    return parts


def _fits(part: FileSection, mistakes: Mistakes) -> bool:
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
    if is_file or name in _SCALARS or isinstance(value, YamlList if name in _LISTS else YamlMap):
        return True
    shape, fix = ("a list", "begin each item with `- `") if name in _LISTS else ("a mapping", None)
    message = f"expected {shape}, got {described(value, is_secret=True)}"
    mistakes.add(part.where(), name, message, fix)
    return False


def named_version(parts: Iterable[FileSection], mistakes: Mistakes) -> Version | None:
    """Return the ProxySQL version that the files name, or None. Changes: mistakes.

    The version may be newer than the catalogue.
    """
    places: dict[Version, Where] = {}
    for part in parts:
        try:
            places.setdefault(_version(part.value), part.where())
        except ValueError as error:
            mistakes.add(part.where(), part.name, str(error), f"write it like {REFERENCE}")
    first: Version | None = None
    for version, where in places.items():
        if first is None:
            first = version
            continue
        message = f"{version} differs from {first} at {places[first]}"
        mistakes.add(where, "proxysql_version", message, "name the same version in all files")
    return first


def _version(value: object) -> Version:
    """Return the version in a `proxysql_version` section. Raises: ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"expected a version, got {described(value)}")
    try:
        return known_version(value)
    except ValueError:
        if re.match(r"[0-9]", value) and parse_version(value) > NEWEST_KNOWN:
            return parse_version(value)
        raise
