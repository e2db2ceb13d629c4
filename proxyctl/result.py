"""What an apply did to each layer of each admin module."""

from __future__ import annotations

from dataclasses import dataclass, field

OLD, NEW, UNKNOWN = "as before", "as in the files", "not known"
"""What a layer holds; after a rollback it is `as in the snapshot` in place of NEW."""


@dataclass
class ModuleResult:
    """What the three layers of one admin module hold after an apply, in words."""

    name: str
    memory: str = OLD
    runtime: str = OLD
    disk: str = OLD

    def text(self) -> str:
        """Return one line for people."""
        return f"{self.name}: MEMORY {self.memory}, RUNTIME {self.runtime}, DISK {self.disk}"


@dataclass
class ApplyResult:
    """What an apply did; one that failed raises instead."""

    modules: list[ModuleResult] = field(default_factory=list)
    statements: int = 0
    loads: int = 0
    saves: int = 0
    notes: list[str] = field(default_factory=list)
    snapshot: str | None = None
    omits_secrets: bool = False
    """Whether secrets are left out of the snapshot."""
