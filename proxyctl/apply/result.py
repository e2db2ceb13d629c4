"""What an apply did to each layer of each admin module."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxyctl.instance.cluster import PeerResult

OLD, NEW, UNKNOWN = "as before", "as in the files", "not known"
"""What a layer holds; after a rollback it is `as in the snapshot` in place of NEW."""


NOT_OURS = "unknown"
"""What a layer holds once the lock is lost: somebody else may have gone on there since."""


@dataclass
class ModuleResult:
    """What the three layers of one admin module hold after an apply, in words."""

    name: str
    memory: str = OLD
    runtime: str = OLD
    disk: str = OLD

    def disown(self) -> None:
        """Mark every layer as unknown: the lock is lost."""
        self.memory = self.runtime = self.disk = NOT_OURS

    def text(self) -> str:
        """Return one line for people."""
        return f"{self.name}: MEMORY {self.memory}, RUNTIME {self.runtime}, DISK {self.disk}"


@dataclass
class ApplyResult:
    """What an apply did. A failed apply raises instead."""

    modules: list[ModuleResult] = field(default_factory=list)
    statements: int = 0
    loads: int = 0
    saves: int = 0
    notes: list[str] = field(default_factory=list)
    snapshot: str | None = None
    peers: list[PeerResult] = field(default_factory=list)
    """The members of the cluster, where the change travels and they were waited for."""

    @property
    def not_following(self) -> list[PeerResult]:
        """The members that do not hold what was applied."""
        return [peer for peer in self.peers if not peer.follows]
