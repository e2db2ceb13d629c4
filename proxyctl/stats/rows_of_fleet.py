"""The digest tables of many instances as one table: each of its rows once, with the sums of all."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proxyctl.instance.client import AdminClient
from proxyctl.stats.model import TABLE_GROUPS, DigestRows, DigestTable, SeenDigest
from proxyctl.stats.top.groups import GroupPart, added, streamed_groups
from proxyctl.stats.top.model import CountedInstance, GroupSums, TopOptions
from proxyctl.text import counted

_EVERY_ROW = TopOptions(groups=TABLE_GROUPS)


@dataclass(frozen=True)
class HeldDigests:
    """All digests of an instance, by their first digits. They are kept compressed."""

    instance: CountedInstance
    """The instance."""
    packed: Sequence[GroupPart]
    """The rows by the first digits of their digests, in order."""

    def parts(self) -> Iterator[GroupPart]:
        """Yield the rows by the first digits of their digests."""
        for digits, rows in self.packed:
            yield digits, zlib.decompress(rows)


def hold_digests(client: AdminClient) -> HeldDigests:
    """Return all digests that the instance has seen. Raises: as `read_digests`."""
    with streamed_groups(client, _EVERY_ROW) as (instance, parts):
        return HeldDigests(instance, [(digits, zlib.compress(rows, 1)) for digits, rows in parts])


def merged_table(held: Sequence[HeldDigests]) -> DigestTable:
    """Return the rows of all instances as one table; each iteration adds them up again.

    Variables and version are those of the first instance.
    """

    def rows() -> Iterator[SeenDigest]:
        parts = [(digests.instance.name, digests.parts()) for digests in held]
        return map(_row, added(parts, TABLE_GROUPS))

    first = held[0].instance
    name, address = first.name, first.address
    if len(held) > 1:
        name = address = counted(len(held), "instance")
    return DigestTable(
        name,
        address,
        first.version,
        max(digests.instance.taken_at for digests in held),
        DigestRows(sum(1 for _ in rows()), rows),
        first.variables,
    )


def _row(sums: GroupSums) -> SeenDigest:
    digest, hostgroup, schemaname, username, client_address = sums.key  # as TABLE_GROUPS
    return SeenDigest(
        hostgroup=int(hostgroup),
        schemaname=str(schemaname),
        username=str(username),
        client_address=str(client_address),
        digest=str(digest),
        digest_text=sums.digest_text or "",
        count_star=sums.count_star,
        first_seen=sums.first_seen,
        last_seen=sums.last_seen,
        sum_time=sums.sum_time,
        min_time=sums.min_time,
        max_time=sums.max_time,
        sum_rows_affected=sums.sum_rows_affected,
        sum_rows_sent=sums.sum_rows_sent,
    )
