"""What is known of one table in three layers, and what that says of its servers. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from proxyctl.catalog import Layout, Role
from proxyctl.compare import Difference
from proxyctl.families import Family, Node
from proxyctl.state import DesiredRow, DesiredTable, Key, Layer, Row, Rows


@dataclass
class TableSurvey:
    """What one table needs, and what stands in the way.

    Shape: `memory` and `target` are MEMORY now and after staging, as stored (users in halves stay
    halves); they are the same object where nothing is staged. `changes` lists per layer where it
    differs from the files. `unpublished` and `unsaved` list where RUNTIME and DISK differ from
    MEMORY, ours or not: `current` is the layer's row, `desired` MEMORY's. `runtime` and `disk` are
    kept only where a restore, a placement or several LOADs need them. `memory_count` and
    `runtime_count` count a user and a node of a family once, however many rows they have; `place`
    tells by a row's key what it counts as, `families` are those of servers, `drained` the nodes
    that RUNTIME alone shows drained.
    `is_cluster_member`: peers may have replaced the rows of MEMORY.
    """

    layout: Layout
    desired: DesiredTable | None
    memory: Rows
    target: Rows
    changes: dict[Layer, list[Difference]] = field(default_factory=dict)
    unpublished: list[Difference] = field(default_factory=list)
    unsaved: list[Difference] = field(default_factory=list)
    runtime: Rows | None = None
    disk: Rows | None = None
    memory_count: int = 0
    runtime_count: int = 0
    place: Callable[[Key], Key] | None = None
    families: tuple[Family, ...] = ()
    disk_restart_only: dict[Key, Row] = field(default_factory=dict)
    drained: frozenset[Node] = frozenset()
    discovered: list[Node] = field(default_factory=list)
    is_cluster_member: bool = False
    draining: int = 0
    unowned: int = 0

    @property
    def is_in_sync(self) -> bool:
        """Whether no layer differs from the files."""
        return not any(self.changes.values())

    @property
    def is_of_servers(self) -> bool:
        """Whether it is a table of servers."""
        return self.layout.table.role is Role.SERVERS


@dataclass(frozen=True)
class Surroundings:
    """What a survey of servers has to know about the instance.

    `families` are the desired families that the monitor places now; `memory_families` those of the
    MEMORY rows. `is_cluster_member`: MEMORY and DISK may hold placed rows that a peer sent.
    """

    families: tuple[Family, ...] = ()
    memory_families: tuple[Family, ...] = ()
    is_cluster_member: bool = False


def one_key_a_node(
    survey: TableSurvey, place: Callable[[Key], Key], lists: list[list[Difference]]
) -> list[list[Difference]]:
    """Return the differences with one key for all rows of a node that leaves its family.

    RUNTIME has them in other hostgroups than MEMORY; the key is that of a row that both have, if
    there is one.
    """
    staying = set(map(place, survey.desired.rows)) if survey.desired else set()
    keys: dict[Key, Key] = {}

    def renamed(difference: Difference) -> Difference:
        where = place(difference.key)
        if difference.desired is not None or where in staying:
            return difference
        return replace(difference, key=keys.setdefault(where, difference.key))

    return [
        [renamed(one) for one in sorted(found, key=lambda one: one.key not in survey.memory)]
        for found in lists
    ]


def taken_off(survey: TableSurvey) -> set[Key]:
    """Return the servers that MEMORY will have OFFLINE_HARD, and that RUNTIME has no more."""
    found = {key for key, row in survey.target.items() if is_offline_hard(survey.layout, row)}
    place = survey.place or (lambda key: key)
    live = {place(key) for key in survey.runtime or {}} if found else set()
    return {key for key in found if place(key) not in live}


def is_offline_hard(layout: Layout, row: DesiredRow) -> bool:
    """Return whether a row of servers is in MEMORY or on DISK only, by its status."""
    return str(row[layout.index["status"]]).upper() == "OFFLINE_HARD"
