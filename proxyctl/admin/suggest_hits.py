"""Reads how often rules were hit, and since when the instance counts it."""

from __future__ import annotations

from proxyctl.admin.client import AdminClient
from proxyctl.admin.rule_hits import read_rule_hits
from proxyctl.digests.suggest_hits import RuleHits


def read_hits_since(client: AdminClient) -> RuleHits:
    """Return the hits of the rules at RUNTIME; they begin at 0 with every LOAD of the rules.

    Raises: InstanceError.
    """
    sample = read_rule_hits(client)
    rows = client.query("SELECT strftime('%s','now')", width=1)
    now = client.number(rows[0][0]) if rows else 0
    loaded_at = sample.loaded_at
    return RuleHits(sample.hits, None if not loaded_at else max(0, now - loaded_at))
