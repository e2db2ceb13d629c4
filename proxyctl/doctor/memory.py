"""Digests that are off, and memory."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, listed
from proxyctl.stats.units import size_text

_RESIDENT = 1_000_000_000
_DIGESTS = 250_000_000
"""Units: bytes. As many digests hold the admin interface for five seconds when they are read."""
_NAME = "mysql-query_digests"


def find(facts: Facts) -> Iterator[Finding]:
    """Yield what is wrong with digests, and large memory."""
    if not facts.is_on(_NAME):
        yield _off(facts)
    if facts.digest_bytes is not None and facts.digest_bytes >= _DIGESTS:
        yield Finding(
            "digests-large",
            "stats_mysql_query_digest",
            f"the digests take {size_text(facts.digest_bytes)}: reading them blocks the admin"
            " interface for seconds",
            "`proxyctl digest reset` empties the table",
        )
    if facts.resident_bytes is not None and facts.resident_bytes >= _RESIDENT:
        yield Finding(
            "memory-large",
            "memory",
            f"ProxySQL holds {size_text(facts.resident_bytes)}",
            "`proxyctl doctor --memory` measures the digests, stats_memory_metrics lists all parts."
            " Queries wait while either is read",
        )


def _off(facts: Facts) -> Finding:
    """Return that there are no digests. Source: ProxySQL 2.7.1, run."""
    fix = f"variables: {{{_NAME}: true}}"
    ids = [rule.rule_id for rule in facts.rules if rule.matches_digest]
    if not ids:
        message = "digests are off: `proxyctl digest` has nothing to show"
        return Finding("digests-off", _NAME, message, fix)
    rules = f"{'rules' if len(ids) > 1 else 'rule'} {listed(ids)}"
    message = f"digests are off, so match_digest of {rules} matches every query"
    return Finding("digests-off-with-rules", _NAME, message, fix)
