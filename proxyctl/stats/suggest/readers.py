"""Which hostgroup reads for which writer: of a family, or by names like `writer` and `reader`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxyctl.lint.subject import Subject
from proxyctl.lint.traffic_readers import family_rows, nodes_of, reader_hostgroups
from proxyctl.state.configuration import Configuration

_UP = ("ONLINE", "SHUNNED", "SHUNNED_REPLICATION_LAG")


@dataclass(frozen=True)
class Readers:
    """The reader of each writer. Shape: `nodes` are the servers of each hostgroup that are up.

    `kinds` say how it is known: the table of a family, or `names`. `holds_servers` False: nothing
    is known of servers.
    """

    of_writer: dict[int, int]
    kinds: dict[int, str]
    nodes: dict[int, frozenset[tuple[object, object]]]
    holds_servers: bool

    def is_served(self, reader: int) -> bool:
        """Return whether the reader has a server, or the monitor of a family gives it one."""
        if not self.holds_servers or self.nodes.get(reader):
            return True
        return any(
            one == reader and self.kinds[writer] != "names" and self.nodes.get(writer)
            for writer, one in self.of_writer.items()
        )


def find_readers(configuration: Configuration) -> Readers:
    """Return which hostgroup could answer the reads of which writer."""
    subject = Subject(configuration)
    found: dict[int, int] = {}
    kinds: dict[int, str] = {}
    members: set[int] = set()
    for row in family_rows(subject):
        members |= set(row.roles.values())
        writer, reader = row.roles.get("writer_hostgroup"), row.roles.get("reader_hostgroup")
        if writer is not None and reader is not None and writer != reader:
            found[writer], kinds[writer] = reader, row.table
    names = {n: text for n, text in configuration.hostgroup_names.items() if n not in members}
    for reader in reader_hostgroups(subject) - members:
        for writer in names:
            if writer not in found and _are_pair(configuration, writer, reader):
                found[writer], kinds[writer] = reader, "names"
    return Readers(found, kinds, _nodes(subject), subject.holds_all_of("mysql_servers"))


def _are_pair(configuration: Configuration, writer: int, reader: int) -> bool:
    """Return whether two names differ in one word, and lint takes one for the other's reader."""
    names = {one: configuration.hostgroup_names[one] for one in (writer, reader)}
    words = [set(names[one].lower().replace("-", "_").split("_")) for one in (writer, reader)]
    if len(words[0] - words[1]) != 1 or len(words[1] - words[0]) != 1:
        return False
    alone = Subject(replace(configuration, tables={}, hostgroup_names=names))
    return reader_hostgroups(alone) == {reader}


def _nodes(subject: Subject) -> dict[int, frozenset[tuple[object, object]]]:
    down = {
        (cells["hostgroup_id"], cells["hostname"], cells["port"])
        for _, cells in subject.cells("mysql_servers")
        if str(cells["status"]).upper() not in _UP
    }
    return {
        hostgroup: frozenset(node for node in nodes if (hostgroup, *node) not in down)
        for hostgroup, nodes in nodes_of(subject).items()
    }
