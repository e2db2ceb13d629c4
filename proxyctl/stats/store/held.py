"""The digests of a window of a store, held for each instance as if they came from it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from proxyctl.errors import ProxyctlError
from proxyctl.instance.client import AdminClient
from proxyctl.stats.differing_digests import with_names
from proxyctl.stats.model import TABLE_GROUPS
from proxyctl.stats.rows_of_fleet import HeldDigests
from proxyctl.stats.store.top import COLUMNS, counted_instance
from proxyctl.stats.store.window import StoreWindow, WindowReader, opened_window
from proxyctl.stats.top.groups import DIGITS


@dataclass(frozen=True)
class StoredDigests:
    """The digests of a window, by the name of the instance that counted them."""

    window: StoreWindow
    """What was read."""
    held: Mapping[str, HeldDigests]
    """The digests of each instance."""
    notes: Sequence[str]
    """Why the sums may mislead, and the instances that were left out."""

    def of(self, client: AdminClient) -> HeldDigests:
        """Return the digests of an instance. Raises: ProxyctlError if the window has none."""
        if client.name not in self.held:
            raise ProxyctlError(
                f"{self.window.path}: nothing was counted at {client.name} in this period",
                fix="collect from every instance: digest collect --all; or change --since",
            )
        return self.held[client.name]


def read_stored_digests(window: StoreWindow, names: Iterable[str]) -> StoredDigests:
    """Return the digests of the instances that are named, as far as the window has them.

    Raises: as `opened_window`.
    """
    wanted = {*names}
    with opened_window(window) as reader:
        chosen = [instance for instance in reader.instances if instance.name in wanted]
        held = {instance.name: _held(reader, instance.name) for instance in chosen}
        others = [instance.name for instance in reader.instances if instance.name not in wanted]
        reader.instances = chosen
        notes = [*with_names(reader.doubts()), *reader.gap_notes("this period")]
    if others:
        notes.append(f"{', '.join(others)}: in the store but not in the files, so left out")
    return StoredDigests(window, held, notes)


def _held(reader: WindowReader, name: str) -> HeldDigests:
    """Return the digests of an instance, also if it had several addresses."""
    instances = [instance for instance in reader.instances if instance.name == name]
    columns = ", ".join(COLUMNS[group] for group in TABLE_GROUPS)
    parts = reader.store.execute(
        f"SELECT CAST(substr(series.digest, 3, {DIGITS}) AS BLOB) AS digits,"
        f" CAST(json_group_array(json_array({columns}, digest_text, 1, sums.count_star, first_at,"
        " last_at, sums.sum_time, min_time, max_time, sums.sum_rows_affected,"
        " sums.sum_rows_sent)) AS BLOB) FROM sums JOIN series ON series.id = sums.series"
        " JOIN digest ON digest.digest = series.digest"
        f" WHERE series.instance IN ({','.join(str(instance.number) for instance in instances)})"
        " GROUP BY digits ORDER BY digits"
    )
    packed = [(digits, zlib.compress(rows, 1)) for digits, rows in parts]
    return HeldDigests(counted_instance(reader, instances), packed)
