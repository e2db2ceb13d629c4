"""Known defects of ProxySQL, as data: which versions have them, and which configuration they touch.

Only what was seen on a running ProxySQL or read in its source. A defect that no configuration can
avoid is none of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from proxyctl.catalog import Version
from proxyctl.catalog.model import OLDEST
from proxyctl.doctor.facts import SKIPS_FAST_ROUTING, Facts
from proxyctl.doctor.finding import Check, Finding, Severity, register
from proxyctl.doctor.wording import listed, nodes_text
from proxyctl.errors import counted
from proxyctl.server_version import is_mariadb, version_numbers


@dataclass(frozen=True)
class Defect:
    """One defect.

    `since` and `until` are the first and the last version that is known to have it. `touches`
    returns what of this configuration it hits, empty for nothing. `way_out` may stand for all.
    """

    code: str
    severity: Severity
    summary: str
    where: str
    touches: Callable[[Facts], str]
    way_out: str
    since: Version = OLDEST
    until: Version | None = None

    def is_in(self, version: Version) -> bool:
        """Return whether this version has it."""
        return self.since <= version and (self.until is None or version <= self.until)


def _skipped_fast_routing(facts: Facts) -> str:
    if not facts.fast_routing or not facts.rules:
        return ""
    last = max(facts.rules, key=lambda rule: rule.rule_id)
    if not last.apply:
        return ""
    rows = counted(sum(facts.fast_routing.values()), "row")
    return (
        f"fast routing ({rows}) is skipped for queries that no rule takes, since the last rule"
        f" ({last.rule_id}) has apply 1"
    )


def _replaces_caseless(facts: Facts) -> str:
    if facts.variables.get("mysql-query_processor_regex") != "2":
        return ""
    ids = sorted(r.rule_id for r in facts.rules if r.replaces and r.is_caseless)
    if not ids:
        return ""
    return (
        f"with RE2 the rewriting of {'rules' if len(ids) > 1 else 'rule'} {listed(ids)} minds case,"
        " though matching does not: such a query is taken and stays as it is"
    )


def _stalls(facts: Facts) -> str:
    if not facts.is_on("mysql-query_digests"):
        return ""
    return "every query waits while somebody reads stats_mysql_query_digest"


def _no_maintenance(facts: Facts) -> str:
    galera = {h for family in facts.families if family.is_galera for h in family.hostgroups}
    nodes = {server.node for server in facts.servers if server.hostgroup in galera}
    found = [
        node
        for node, text in facts.versions.items()
        if node in nodes and not is_mariadb(text) and not text.startswith(("5.7", "8"))
        if version_numbers(text) is not None
    ]
    if not found:
        return ""
    return (
        f"pxc_maint_mode of {nodes_text(found)} is not looked at: the monitor reads it"
        " from servers of 5.7 and 8 only"
    )


def _placement_travels(facts: Facts) -> str:
    if len(facts.peers) < 2 or not facts.families:
        return ""
    if facts.variables.get("admin-cluster_mysql_servers_sync_algorithm") != "1":
        return ""
    return (
        "peers also pull where the monitor has placed nodes, and save it to DISK as configuration"
    )


def _saves_scheduler(facts: Facts) -> str:
    found = facts.surveys.get("restapi_routes")
    if found is None or not found.memory:
        return ""
    return "SAVE RESTAPI TO MEMORY saves the scheduler instead"


DEFECTS = (
    Defect(
        code="fast-routing-skipped",
        severity=Severity.ERROR,
        summary="Fast routing is not asked where the last rule has apply 1.",
        where="mysql_query_rules_fast_routing",
        touches=_skipped_fast_routing,
        way_out="add a last rule with flagIN: 2147483647 and apply: false; proxyctl does that by"
        " itself where the files have fast routing",
        since=SKIPS_FAST_ROUTING,
    ),
    Defect(
        code="re2-replaces-by-case",
        severity=Severity.WARNING,
        summary="With RE2, replace_pattern minds case whatever re_modifiers say.",
        where="mysql_query_rules",
        touches=_replaces_caseless,
        way_out="write (?i) at the beginning of match_pattern",
    ),
    Defect(
        code="digests-stall-queries",
        severity=Severity.WARNING,
        summary="Queries wait while digests are read, up to 2.5.1.",
        where="stats_mysql_query_digest",
        touches=_stalls,
        way_out="read digests rarely, or go to 2.5.2 or newer",
        until=Version(2, 5, 1),
    ),
    Defect(
        code="maintenance-not-seen",
        severity=Severity.WARNING,
        summary="The Galera monitor looks at pxc_maint_mode of servers of 5.7 and 8 only.",
        where="mysql_galera_hostgroups",
        touches=_no_maintenance,
        way_out="drain such a node with max_connections 0, or set wsrep_desync there",
    ),
    Defect(
        code="placement-travels",
        severity=Severity.INFO,
        summary="Peers take the monitor's placement for configuration.",
        where="admin-cluster_mysql_servers_sync_algorithm",
        touches=_placement_travels,
        way_out="variables: {admin-cluster_mysql_servers_sync_algorithm: 2} helps with LOADs by"
        " hand; proxyctl loads the placement itself, so peers save it with any value, and plan and"
        " drift take that for no difference",
        since=Version(2, 6, 0),
    ),
    Defect(
        code="restapi-saves-scheduler",
        severity=Severity.INFO,
        summary="SAVE RESTAPI TO MEMORY saves the scheduler.",
        where="restapi_routes",
        touches=_saves_scheduler,
        way_out="do not use it; `proxyctl export` reads RUNTIME",
    ),
)


def _touched(defect: Defect, facts: Facts) -> Iterator[Finding]:
    if defect.is_in(facts.version) and (what := defect.touches(facts)):
        yield Finding(defect.where, f"ProxySQL {facts.version}: {what}", defect.way_out)


for _defect in DEFECTS:
    register(Check(_defect.code, _defect.severity, _defect.summary, partial(_touched, _defect)))
