"""What one run over the files shares: the mistakes so far, the names, the version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from proxyctl.catalog import NO_ADDITIONS, TABLES, Additions, Layout, Version
from proxyctl.config.files import Fence
from proxyctl.config.mistakes import Mistakes, shown
from proxyctl.config.references import References, UnresolvedError
from proxyctl.config.yaml import Unusable
from proxyctl.state.row import Secret, Where

UNKNOWN_SECRET = Secret("unknown:unknown")
"""Stands for a secret where nothing depends on it. It is a password and a list of logins alike."""


@dataclass
class Context:
    """One run over the files.

    Shape: `hostgroups` from name to number, filled by the `hostgroups` section; the names whose
    number is wrong are `broken_hostgroups`. `layouts` of the tables that the version has, by name.
    `needs_secrets`, `takes_dead_rules`: as `ParsedFiles.project` has them; without the first, a
    secret that is not at hand is UNKNOWN_SECRET. `additions`: what the
    instance that the files are for has beyond its version.
    """

    version: Version
    fence: Fence = field(default_factory=Fence)
    needs_secrets: bool = True
    mistakes: Mistakes = field(default_factory=Mistakes)
    takes_dead_rules: bool = False
    warnings: list[str] = field(default_factory=list)
    hostgroups: dict[str, int] = field(default_factory=dict)
    broken_hostgroups: set[str] = field(default_factory=set)
    additions: Additions = NO_ADDITIONS
    layouts: dict[str, Layout] = field(init=False)

    def __post_init__(self) -> None:
        self.layouts = {
            name: self.additions.layout_of(table, self.version)
            for name, table in TABLES.items()
            if table.exists_in(self.version)
        }

    def text(
        self, reference: Mapping[str, str], where: Where, label: str, *, is_secret: bool = False
    ) -> str | None:
        """Return the text that a reference stands for; None after a mistake."""
        references = References(os.path.dirname(where.path), self.fence)
        try:
            return references.resolve(reference, is_secret=is_secret)
        except UnresolvedError as error:
            if is_secret and not self.needs_secrets:
                return UNKNOWN_SECRET
            hint = error.hint(self.mistakes.did_you_mean)
            self.mistakes.add(where, label, error.message, hint)
            return None

    def hostgroup(self, value: int | str, where: Where, label: str) -> int | None:
        """Return the number of a hostgroup; None after a mistake."""
        if isinstance(value, int):
            return value
        number = self.hostgroups.get(value)
        if number is None and not isinstance(value, Unusable):
            self.add_unknown_hostgroup(value, where, label)
        return number

    def add_unknown_hostgroup(self, name: str, where: Where, label: str) -> None:
        """Note that no hostgroup has this name; a broken one is a mistake already.

        Changes: self.mistakes.
        """
        if name in self.broken_hostgroups:
            return
        near = self.mistakes.did_you_mean(name, self.hostgroups, self.broken_hostgroups)
        hint = near or "name it under `hostgroups`"
        if name.isdecimal():
            hint = "remove the quotes"
        self.mistakes.add(where, label, f"no hostgroup is called {shown(name)}", hint)
