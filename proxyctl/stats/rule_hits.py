"""Reads the query rules at RUNTIME and stats_mysql_query_rules."""

from __future__ import annotations

import time

from proxyctl.catalog import Value
from proxyctl.digests.rules_hits import Sample
from proxyctl.instance.client import AdminClient
from proxyctl.instance.read import read_configuration
from proxyctl.state.row import Layer

_TABLE = "mysql_query_rules"


def read_rule_hits(client: AdminClient, earlier: Sample | None = None) -> Sample:
    """Return the rules in force and their hits, some two seconds behind. Raises: InstanceError.

    Rules that were not loaded since an `earlier` sample of this client are not read again.
    """
    loads, loaded_at = _loaded(client)
    if earlier and loads is not None and (loads, loaded_at) == (earlier.loads, earlier.loaded_at):
        rules = earlier.rules
    else:
        rules = _rules(client)
    rows = client.query("SELECT rule_id, hits FROM stats_mysql_query_rules")
    hits = {client.number(rule_id): client.number(hits) for rule_id, hits in rows}
    return Sample(time.monotonic(), hits, rules, loads, loaded_at)


def _rules(client: AdminClient) -> dict[int, dict[str, Value]]:
    """Return the rules at RUNTIME, in the order in which they are tried."""
    held = read_configuration(client, Layer.RUNTIME, [_TABLE]).tables[_TABLE]
    rules = [dict(zip(held.layout.names, row, strict=True)) for row in held.rows.values()]
    rules.sort(key=lambda cells: int(str(cells["rule_id"])))
    return {int(str(cells["rule_id"])): cells for cells in rules}


def _loaded(client: AdminClient) -> tuple[int | None, int | None]:
    """Return how often rules were loaded and when last.

    ProxySQL counts that unless admin-checksum_mysql_query_rules is false; then the version is 0.
    """
    rows = client.query(
        f"SELECT version, epoch FROM runtime_checksums_values WHERE name = '{_TABLE}'",
    )
    version, epoch = rows[0] if rows else (None, None)
    loads, loaded_at = client.number(version), client.number(epoch)
    return (loads, loaded_at) if loads else (None, None)
