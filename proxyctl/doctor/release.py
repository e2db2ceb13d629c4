"""The release of ProxySQL: missing security fixes, and defects that affect this configuration.

Source: each defect was seen on a running ProxySQL or in its source. A configuration can avoid it.
"""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.destinations import is_hidden_by_last_rule
from proxyctl.catalog.releases import (
    SECURITY_FIXES,
    beyond_catalogue,
    is_mariadb,
    version_numbers,
)
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Diagnosis, listed
from proxyctl.proxysql.topology import node_text


def release(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the missing security fixes, and a finding if the release is not known."""
    version = facts.version
    missing = [
        (version.numbered(release), holes)
        for release, holes in SECURITY_FIXES
        if not version.has(release)
    ]
    if missing and not facts.is_sandbox:
        holes = "; ".join(f"{text}, fixed in {release}" for release, text in missing)
        yield Diagnosis(
            "security-fixes-missing",
            "ProxySQL",
            f"{version} has known vulnerabilities: {holes}",
            f"upgrade to {missing[-1][0]} or newer",
        )
    if reason := beyond_catalogue(version):
        yield Diagnosis(
            "release-unknown",
            "ProxySQL",
            f"{reason}: columns and variables that proxyctl does not know are left alone",
            "upgrade proxyctl",
        )


def known_defects(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the defects of this version that affect this configuration."""
    yield from _fast_routing_skipped(facts)
    yield from _re2_replaces_by_case(facts)
    yield from _maintenance_not_seen(facts)


def _fast_routing_skipped(facts: Facts) -> Iterator[Diagnosis]:
    has_rows = any(use.kind == "fast-routing row" for use in facts.mysql.uses)
    last = facts.rules[-1] if facts.rules else None
    is_skipped = is_hidden_by_last_rule(facts.version)
    if has_rows and last is not None and last.apply and is_skipped:
        yield Diagnosis(
            "fast-routing-skipped",
            "mysql_query_rules_fast_routing",
            f"fast routing is never used: the last rule ({last.rule_id}) has apply 1",
            "add a last rule with flagIN: 2147483647 and apply: false; proxyctl adds one if the"
            " files have fast routing",
        )


def _re2_replaces_by_case(facts: Facts) -> Iterator[Diagnosis]:
    ids = [rule.rule_id for rule in facts.rules if rule.replaces and rule.is_caseless]
    if ids and facts.variables.get("mysql-query_processor_regex") == "2":
        yield Diagnosis(
            "re2-replaces-by-case",
            "mysql_query_rules",
            f"with RE2 the replace_pattern of rule {listed(ids)} is case-sensitive although"
            " matching is not: a query in different case matches but is not rewritten",
            "write (?i) at the beginning of match_pattern",
        )


def _maintenance_not_seen(facts: Facts) -> Iterator[Diagnosis]:
    galera = {h for family in facts.families if family.is_galera for h in family.hostgroups}
    nodes = {server.node for server in facts.mysql.servers if server.hostgroup in galera}
    unseen = [
        node_text(node)
        for node, text in facts.versions.items()
        if node in nodes and version_numbers(text) and not is_mariadb(text)
        if not text.startswith(("5.7", "8"))
    ]
    if unseen:
        yield Diagnosis(
            "maintenance-not-seen",
            "mysql_galera_hostgroups",
            "the monitor reads pxc_maint_mode only on servers of 5.7 and 8, so not on"
            f" {listed(unseen)}",
            "take such a node out of service with `proxyctl nodes drain`",
        )
