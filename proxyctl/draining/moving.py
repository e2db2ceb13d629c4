"""A writer on the move: what others edit meanwhile is neither lost nor published unasked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proxyctl.draining.request import DrainRequest
from proxyctl.errors import ApplyError
from proxyctl.families import Node
from proxyctl.held_servers import SERVERS, HeldServers
from proxyctl.nodes.writer_move import WriterMove
from proxyctl.state import Key, Rows

_LISTED = 8


@dataclass(frozen=True)
class Moving:
    """A move that is under way.

    `disk`: what DISK held before.
    """

    move: WriterMove
    is_cluster_member: bool
    disk: Rows

    @classmethod
    def begin(cls, servers: HeldServers, image: Rows) -> Moving:
        """Return the move that a LOAD of these rows begins."""
        standing = servers.standing
        move = WriterMove(standing.columns, standing.families, servers.truth, image)
        is_member = servers.survey.surroundings.is_cluster_member
        return cls(move, is_member, servers.disk)

    def check(self, now: HeldServers) -> None:
        """Refuse to go on where others edited what the next LOAD would publish.

        Raises: ApplyError.
        """
        found = [f"mysql_servers {_text(key)}" for key in self._undone(now.truth)[1]]
        for name, survey in now.surveys.items():
            if name != "mysql_servers":
                found += [f"{name} {_text(one.key)}" for one in survey.unpublished]
        if found:
            more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
            raise ApplyError(
                f"edited while the writer moved: {', '.join(found[:_LISTED])}{more}",
                hint="the edits stay as they are: run it again once they are loaded or undone, or"
                " with --include-pending, which loads them",
            )

    def without(self, now: HeldServers) -> tuple[HeldServers, bool]:
        """Return the servers as MEMORY is meant to hold them, and whether DISK is to hold that too.

        A peer of a ProxySQL Cluster whose monitor moves the writer first may send the weights that
        move it back, into MEMORY and DISK. Saved only where DISK has nothing else to lose.
        """
        truth, _ = self._undone(now.truth)
        disk = now.disk
        is_overwritten = disk not in (truth, self.disk) and self._undone(disk)[0] == truth
        return now.as_if(truth), is_overwritten and now.are_others_saved

    def take_back(
        self,
        now: HeldServers,
        node: Node,
        released: Callable[[HeldServers], Rows],
        request: DrainRequest,
    ) -> None:
        """Load the servers without the move. Edits of others stay in MEMORY, and are not loaded."""
        meant, saves = self.without(now)
        surveys = now.surveys
        runtime = {
            name: survey.runtime
            for name, survey in surveys.items()
            if name != "mysql_servers" and survey.unpublished and survey.runtime is not None
        }
        loaded = meant
        if self._undone(now.truth)[1]:
            loaded = now.as_if(self.move.as_loaded(now.standing.runtime))
        meant.load(node, released(loaded), saves=saves, others=runtime)
        if not saves:
            self.warn_of_disk(now, request)

    def warn_of_disk(self, now: HeldServers, request: DrainRequest) -> None:
        """Say that DISK has weights of the move where nothing was saved: a SAVE carries more."""
        disk = now.disk
        if disk != self.disk and self.move.has_weights(disk):
            request.progress(
                "warning: DISK holds the weights that moved the writer, as a peer or a SAVE brought"
                f" them there, and more that is not as in MEMORY: {SERVERS.save} once MEMORY is as"
                " it should be"
            )

    def _undone(self, rows: Rows) -> tuple[Rows, list[Key]]:
        """Return rows of MEMORY or DISK without the move: outside of a cluster nobody sends it."""
        if self.is_cluster_member:
            return self.move.undone(rows)
        return rows, self.move.edits(rows)


def _text(key: Key) -> str:
    return ":".join(str(part) for part in key)
