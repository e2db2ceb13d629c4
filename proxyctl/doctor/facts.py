"""What is known of an instance when the doctor looks at it: rows, mostly, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from proxyctl.catalog import Version
from proxyctl.catalog.variable_rules import atoi
from proxyctl.cluster.checksums import Checksum, PeerChecksum
from proxyctl.drains import Drain
from proxyctl.families import Family, Node
from proxyctl.lint.default_hostgroups import Left
from proxyctl.lint.rule_says import Say
from proxyctl.nodes.model import Said
from proxyctl.survey import TableSurvey


class Server(NamedTuple):
    """A row of mysql_servers at RUNTIME, without those that are OFFLINE_HARD.

    `max_latency_ms`: 0 where none is set. `too_slow_ms`: how long the monitor's last ping took if
    that is more than it may be, else 0. `may_take_no_time`: no ping is fast enough, as no time is
    left to any. `is_tried_again`: it is SHUNNED, and the next query has ProxySQL try it again.
    """

    hostgroup: int
    hostname: str
    port: int
    status: str = "ONLINE"
    weight: int = 1
    max_connections: int = 1000
    use_ssl: bool = False
    max_latency_ms: int = 0
    too_slow_ms: float = 0
    may_take_no_time: bool = False
    is_tried_again: bool = False

    @property
    def node(self) -> Node:
        """Host and port."""
        return (self.hostname, self.port)

    @property
    def is_out_of_service(self) -> bool:
        """Whether somebody let it take no new connections."""
        return self.status == "OFFLINE_SOFT" or self.max_connections == 0

    @property
    def is_usable(self) -> bool:
        """Whether ProxySQL sends new queries to it.

        Source: ProxySQL 2.7.1, run: a hostgroup with weight 0 only is answered with error 9001, and
        so is one whose servers answer pings too late.
        """
        is_too_slow = self.too_slow_ms > 0 or self.may_take_no_time
        takes_some = self.weight > 0 and self.max_connections > 0 and not is_too_slow
        return self.status == "ONLINE" and takes_some


class Rule(NamedTuple):
    """A rule at RUNTIME. `answers`: by itself, with OK_msg or error_msg.

    `mirrors_along`: copies begin at a flagIN, and only what no rule sends elsewhere goes to
    `mirror`.

    `say`: worked out of MySQL's rules that send to a hostgroup without servers; DECIDES of others.
    """

    rule_id: int
    destination: int | None = None
    mirror: int | None = None
    apply: bool = False
    answers: bool = False
    matches_digest: bool = False
    replaces: bool = False
    is_caseless: bool = True
    say: Say = Say.DECIDES
    mirrors_along: bool = False


class User(NamedTuple):
    """A user at RUNTIME that clients log in as.

    `left`: what comes to the default hostgroup; worked out where that has no server.
    """

    username: str
    default_hostgroup: int = 0
    use_ssl: bool = False
    fast_forward: bool = False
    left: Left = Left.QUERIES


SKIPS_FAST_ROUTING = Version(2, 0, 12)
"""The first one that does not ask fast routing where the last rule has apply; so do all later."""


class Side(NamedTuple):
    """Who sends queries where at RUNTIME, for one protocol: `mysql` or `pgsql`.

    Hostgroups of the two have nothing to do with each other. `fast_routing` counts rows by
    destination; `most_online` has max_num_online_servers by hostgroup, where it is set.
    """

    protocol: str
    servers: tuple[Server, ...] = ()
    rules: tuple[Rule, ...] = ()
    users: tuple[User, ...] = ()
    fast_routing: Mapping[int, int] = MappingProxyType({})
    most_online: Mapping[int, int] = MappingProxyType({})

    def is_served(self, hostgroup: int) -> bool:
        """Return whether a server takes the queries that are sent there, or does when one comes."""
        there = self.servers_in(hostgroup)
        serves = any(one.is_usable or one.is_tried_again for one in there)
        return serves and not self.too_many_online(hostgroup)

    def fast_routing_asked(self, version: Version) -> Mapping[int, int]:
        """Return the rows of fast routing by destination, if ProxySQL asks for any at all.

        It does not where the last rule has apply, whatever a query matched.
        """
        last = max(self.rules, key=lambda rule: rule.rule_id, default=None)
        is_skipped = version >= SKIPS_FAST_ROUTING and last is not None and last.apply
        return {} if is_skipped else self.fast_routing

    def servers_in(self, hostgroup: int) -> list[Server]:
        """Return the servers of a hostgroup."""
        return [one for one in self.servers if one.hostgroup == hostgroup]

    def too_many_online(self, hostgroup: int) -> int:
        """Return how many servers are ONLINE if that is more than there may be, else 0.

        ProxySQL uses none of them then. Source: ProxySQL 2.7.1 and 3.0.0, run: weight and
        max_connections are nothing to this count.
        """
        most = self.most_online.get(hostgroup)
        if most is None:
            return 0
        count = sum(one.status == "ONLINE" for one in self.servers_in(hostgroup))
        return count if count > most else 0


class MonitorLog(NamedTuple):
    """The newest line that a log of the monitor has of a server.

    `log` is `connect`, `ping`, `read_only`, `replication_lag`, `galera` or `group_replication`.
    `error` None: all was well. Units: unix seconds; `failing_since` is when the errors began that
    followed the last success, as far as the log goes back.
    """

    log: str
    node: Node
    at: float
    error: str | None = None
    failing_since: float = 0


_NOTHING: Mapping[Node, Said] = MappingProxyType({})
_NO_PGSQL = Side("pgsql")


@dataclass(frozen=True)
class Facts:
    """One instance.

    Shape: `variables` are those of RUNTIME. `servers`, `rules`, `users`, `fast_routing` and
    `most_online` are the MySQL side as in `Side`; `pgsql` is the other one, empty before 3.0.
    `surveys` hold each table in its three layers, by catalogue name; `drains` is what is on record
    of drained nodes. `said` has the answers of the servers that were asked, none with `asks` False;
    `pooled_versions` those of open connections; `wsrep` what the Galera monitor read of a node, by
    column of its log, and `group_checks` what that of group replication did.
    `own` are this instance's checksums by name, `peers` the members of its cluster, itself among
    them where it is listed. `dead_apply` tells who left an apply behind, and `dead_modules` what
    it had begun to write. `peer_clocks`: by how much the clock of a member that was asked is ahead.
    Units: `peer_clocks` seconds; `now` unix seconds of the instance's clock; `resident_bytes` None
    where the history does not tell, `digest_bytes` None where nobody asked.
    """

    name: str
    address: str
    version_text: str
    version: Version
    now: int = 0
    asks: bool = True
    variables: Mapping[str, str] = field(default_factory=dict)
    hostgroup_names: Mapping[int, str] = field(default_factory=dict)
    servers: tuple[Server, ...] = ()
    families: tuple[Family, ...] = ()
    rules: tuple[Rule, ...] = ()
    users: tuple[User, ...] = ()
    fast_routing: Mapping[int, int] = field(default_factory=dict)
    most_online: Mapping[int, int] = field(default_factory=dict)
    pgsql: Side = _NO_PGSQL
    monitor_logs: tuple[MonitorLog, ...] = ()
    said: Mapping[Node, Said] = field(default_factory=lambda: _NOTHING)
    pooled_versions: Mapping[Node, str] = field(default_factory=dict)
    wsrep: Mapping[Node, Mapping[str, str]] = field(default_factory=dict)
    group_checks: Mapping[Node, Mapping[str, str]] = field(default_factory=dict)
    surveys: Mapping[str, TableSurvey] = field(default_factory=dict)
    drains: Mapping[Node, Drain] = field(default_factory=dict)
    dead_apply: str = ""
    dead_modules: frozenset[str] = frozenset()
    own: Mapping[str, Checksum] = field(default_factory=dict)
    peers: tuple[Node, ...] = ()
    peer_checksums: tuple[PeerChecksum, ...] = ()
    peer_clocks: Mapping[Node, float] = field(default_factory=dict)
    resident_bytes: int | None = None
    digest_bytes: int | None = None

    def is_on(self, name: str) -> bool:
        """Return whether a boolean variable is true at RUNTIME."""
        return self.variables.get(name, "").lower() in ("true", "1")

    def number(self, name: str) -> int:
        """Return an integer variable at RUNTIME; 0 where this ProxySQL does not have it."""
        return atoi(self.variables.get(name, ""))

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both protocols."""
        routing = (self.rules, self.users, self.fast_routing)
        mysql = Side("mysql", self.servers, *routing, self.most_online)
        return (mysql, self.pgsql)

    @cached_property
    def rows_by_node(self) -> dict[Node, list[Server]]:
        """The rows of each server at RUNTIME, in their order; the servers sorted by hostgroup."""
        found: dict[Node, list[Server]] = {server.node: [] for server in sorted(self.servers)}
        for server in self.servers:
            found[server.node].append(server)
        return found

    @property
    def nodes(self) -> list[Node]:
        """The servers at RUNTIME, each once, sorted by hostgroup."""
        return list(self.rows_by_node)

    @cached_property
    def versions(self) -> dict[Node, str]:
        """The versions of servers as far as they are known; what a server says itself counts.

        Shape: sorted by server.
        """
        known = {node: text for node, text in self.pooled_versions.items() if text}
        known |= {node: said.version for node, said in self.said.items() if said.version}
        return dict(sorted(known.items()))
