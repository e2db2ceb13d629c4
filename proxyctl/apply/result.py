"""What an apply did to each layer of each admin module."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxyctl.instance.cluster import PeerResult
from proxyctl.rows.row import Layer

AS_BEFORE, UNVERIFIED = "as before", "unverified"
"""The states of a layer other than `as in the files`, `as in the snapshot` and LOCK_LOST."""


LOCK_LOST = "unknown (lock lost)"
"""The state of a layer after the lock is lost: another apply may have changed it since."""


@dataclass
class ModuleResult:
    """The state of the three layers of one admin module after an apply, in words."""

    name: str
    """The admin module."""
    memory: str = AS_BEFORE
    """The state of MEMORY."""
    runtime: str = AS_BEFORE
    """The state of RUNTIME."""
    disk: str = AS_BEFORE
    """The state of DISK."""

    def doubt(self, layer: Layer) -> None:
        """Mark a layer as unverified: the command that changes it is on its way."""
        setattr(self, layer.name.lower(), UNVERIFIED)

    def disown(self) -> None:
        """Mark every layer as unknown: the lock is lost."""
        self.memory = self.runtime = self.disk = LOCK_LOST

    def text(self) -> str:
        """Return a line for people."""
        return f"{self.name}: MEMORY {self.memory}, RUNTIME {self.runtime}, DISK {self.disk}"


@dataclass
class ApplyResult:
    """The result of an apply. A failed apply raises instead."""

    modules: list[ModuleResult] = field(default_factory=list)
    """The layers of each admin module that changed."""
    statements: int = 0
    """The number of statements that changed MEMORY."""
    loads: int = 0
    """The number of LOADs."""
    saves: int = 0
    """The number of SAVEs."""
    notes: list[str] = field(default_factory=list)
    """What else happened, in words."""
    snapshot: str | None = None
    """The file that holds what the instance held before; None if none was kept."""
    peers: list[PeerResult] = field(default_factory=list)
    """The members of the cluster, if they synchronise the change and the apply waited for them."""

    @property
    def not_following(self) -> list[PeerResult]:
        """The members that do not hold the applied rows."""
        return [peer for peer in self.peers if not peer.follows]
