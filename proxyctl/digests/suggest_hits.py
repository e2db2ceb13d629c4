"""How often rules were hit, as stats_mysql_query_rules counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class RuleHits:
    """Hits by rule_id, of the rules at RUNTIME.

    Units: `since_s` seconds since the counting began, which is the last LOAD of the rules or the
    start of ProxySQL; None where that cannot be told.
    """

    hits: Mapping[int, int]
    since_s: int | None
