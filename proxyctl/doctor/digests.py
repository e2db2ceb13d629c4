"""Digests that are off, and memory."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.digests.units import size_text
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import listed

_RESIDENT = 1_000_000_000
_DIGESTS = 250_000_000
"""Units: bytes. As many digests hold the admin interface for five seconds when they are read."""


@check("digests-off-with-rules", Severity.ERROR)
def off_with_rules(facts: Facts) -> Iterator[Finding]:
    """`mysql-query_digests` is false, so a rule with match_digest takes every query.

    Source: ProxySQL 2.7.1, run.
    """
    ids = sorted(rule.rule_id for rule in facts.rules if rule.matches_digest)
    if ids and not facts.is_on("mysql-query_digests"):
        yield Finding(
            "mysql-query_digests",
            "digests are off: match_digest passes for every query, in"
            f" {'rules' if len(ids) > 1 else 'rule'} {listed(ids)}",
            "variables: {mysql-query_digests: true}",
        )


@check("digests-off", Severity.INFO)
def off(facts: Facts) -> Iterator[Finding]:
    """`mysql-query_digests` is false: there are no statistics of queries."""
    has_rules = any(rule.matches_digest for rule in facts.rules)
    if not has_rules and not facts.is_on("mysql-query_digests"):
        yield Finding(
            "mysql-query_digests",
            "digests are off: `proxyctl digest` has nothing to show",
            "variables: {mysql-query_digests: true}",
        )


@check("digests-large", Severity.WARNING)
def large(facts: Facts) -> Iterator[Finding]:
    """The digests take much memory. Looked at with `--memory` only: queries wait meanwhile."""
    if facts.digest_bytes is not None and facts.digest_bytes >= _DIGESTS:
        yield Finding(
            "stats_mysql_query_digest",
            f"the digests take {size_text(facts.digest_bytes)}: whoever reads them holds the admin"
            " interface for seconds",
            "`proxyctl digest reset` empties the table",
        )


@check("memory-large", Severity.INFO)
def memory(facts: Facts) -> Iterator[Finding]:
    """ProxySQL holds more than 1 GB, as its own history has it."""
    if facts.resident_bytes is None or facts.resident_bytes < _RESIDENT:
        return
    way_out = "`proxyctl doctor --memory` tells how much the digests take; queries wait meanwhile"
    if facts.digest_bytes is not None:
        way_out = "SELECT * FROM stats_memory_metrics tells what takes it; queries wait meanwhile"
    yield Finding("memory", f"ProxySQL holds {size_text(facts.resident_bytes)}", way_out)
