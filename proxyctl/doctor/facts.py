"""All that the doctor reads of one instance: `read_facts` makes the one frozen value of it.

It sends SELECTs to the instance, and asks the servers behind it with the monitor's account.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from proxyctl.catalog import Layout, Version
from proxyctl.catalog.variable_rules import atoi
from proxyctl.instance.backend import Account, Said, ask_nodes
from proxyctl.instance.checksums import Checksum, PeerChecksum
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import read_own_checksums, read_peer_checksums, read_peers
from proxyctl.instance.read import TableRows, query_whole, read_layouts, read_tables
from proxyctl.plan.diff import Surroundings, TableDiff, diff_table
from proxyctl.state.families import FAMILY_TABLES, Family, Node, families_in
from proxyctl.state.row import Layer
from proxyctl.stats.digest_size import read_digest_size


class Server(NamedTuple):
    """A row of mysql_servers or pgsql_servers at RUNTIME that is not OFFLINE_HARD."""

    hostgroup: int
    hostname: str
    port: int
    status: str = "ONLINE"
    weight: int = 1
    max_connections: int = 1000
    use_ssl: bool = False

    @property
    def node(self) -> Node:
        """Host and port."""
        return (self.hostname, self.port)

    @property
    def is_out_of_service(self) -> bool:
        """Whether somebody decided that it takes no new connections."""
        return self.status == "OFFLINE_SOFT" or self.max_connections == 0

    @property
    def is_usable(self) -> bool:
        """Whether ProxySQL sends new queries to it. Source: ProxySQL 2.7.1, run."""
        return self.status == "ONLINE" and self.weight > 0 and self.max_connections > 0


class Rule(NamedTuple):
    """A row of mysql_query_rules at RUNTIME."""

    rule_id: int
    apply: bool = False
    matches_digest: bool = False
    replaces: bool = False
    is_caseless: bool = True


@dataclass(frozen=True)
class Use:
    """What sends queries to a hostgroup: `count` rows of one kind.

    `kind`: `rule`, `fast-routing row` or `user`. `first`: the lowest rule_id or user name.
    """

    kind: str
    hostgroup: int
    count: int
    first: str


class MonitorLog(NamedTuple):
    """The newest line that a log of the monitor has of a server.

    `log`: `connect`, `ping`, `read_only`, `replication_lag`, `galera` or `group_replication`.
    `error` None: the check went well. Units: unix seconds; `failing_since` is the first error after
    the last success, as far as the log goes back.
    """

    log: str
    node: Node
    at: float
    error: str | None = None
    failing_since: float = 0


class Protocol(NamedTuple):
    """The servers of one protocol, `mysql` or `pgsql`, and what sends queries to hostgroups."""

    name: str
    servers: tuple[Server, ...] = ()
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Facts:
    """One instance as it was read.

    Shape: `variables` are those of RUNTIME, `families` those whose nodes the monitor places now.
    `pgsql` has nothing before ProxySQL 3.0. `users_with_tls`: the frontend users with use_ssl 1.
    `diffs`: each table in its three layers, by catalogue name. `answers`: what the servers that
    were asked say; `versions` of servers, from the answers or else from pooled connections.
    `own`: this instance's checksums by name; `peers`: the members of its cluster, itself included.
    Units: `now` unix seconds of the instance's clock; `resident_bytes` None where the history does
    not tell, `digest_bytes` None where nobody asked.
    """

    name: str
    address: str
    version_text: str
    version: Version
    now: int
    variables: Mapping[str, str]
    hostgroup_names: Mapping[int, str]
    mysql: Protocol
    pgsql: Protocol
    families: tuple[Family, ...]
    rules: tuple[Rule, ...]
    users_with_tls: tuple[str, ...]
    monitor_logs: tuple[MonitorLog, ...]
    diffs: Mapping[str, TableDiff]
    answers: Mapping[Node, Said]
    versions: Mapping[Node, str]
    peers: tuple[Node, ...]
    own: Mapping[str, Checksum]
    peer_checksums: tuple[PeerChecksum, ...]
    resident_bytes: int | None
    digest_bytes: int | None

    def is_on(self, name: str) -> bool:
        """Return whether a boolean variable is true at RUNTIME."""
        return self.variables.get(name, "").lower() in ("true", "1")

    def number(self, name: str) -> int:
        """Return an integer variable at RUNTIME; 0 where this ProxySQL does not have it."""
        return atoi(self.variables.get(name, ""))

    @cached_property
    def rows_by_node(self) -> dict[Node, list[Server]]:
        """The rows of each MySQL server at RUNTIME, sorted by hostgroup."""
        found: dict[Node, list[Server]] = {}
        for server in sorted(self.mysql.servers):
            found.setdefault(server.node, []).append(server)
        return found


def read_facts(
    client: AdminClient,
    *,
    asks: bool = True,
    memory: bool = False,
    hostgroup_names: Mapping[int, str] | None = None,
) -> Facts:
    """Return all facts about one instance.

    `asks`: connect to the servers, as the monitor would. `memory`: have ProxySQL add up its
    digests, for which queries wait. Raises: InstanceError.
    """
    variables = _variables(client)
    layouts = read_layouts(client)
    # First of all what is at RUNTIME: numbers that would end ProxySQL are refused before.
    tables = read_tables(client, layouts.values())
    families = _families(tables, layouts, variables)
    surroundings = Surroundings(memory_families=families)
    diffs = {
        name: diff_table(layout, None, tables[name].rows, surroundings)
        for name, layout in layouts.items()
    }
    mysql = _protocol(client, "mysql")
    nodes = sorted({server.node for server in mysql.servers}, key=str)
    account = Account(
        variables.get("mysql-monitor_username", ""), variables.get("mysql-monitor_password", "")
    )
    answers = ask_nodes(nodes, account) if asks else {}
    versions = {node: said.version for node, said in answers.items() if said.version}
    if len(versions) < len(nodes):
        versions = _pooled_versions(client, nodes) | versions
    peers = read_peers(client)
    return Facts(
        name=client.login.name or client.address,
        address=client.address,
        version_text=client.version_text,
        version=client.version,
        now=client.number(client.query("SELECT strftime('%s','now')")[0][0]),
        variables=variables,
        hostgroup_names=hostgroup_names or {},
        mysql=mysql,
        pgsql=_protocol(client, "pgsql") if "pgsql_servers" in layouts else Protocol("pgsql"),
        families=families,
        rules=_rules(client),
        users_with_tls=_users_with_tls(client),
        monitor_logs=_monitor_logs(client),
        diffs=diffs,
        answers=answers,
        versions=dict(sorted(versions.items(), key=str)),
        peers=peers,
        own=read_own_checksums(client) if peers else {},
        peer_checksums=read_peer_checksums(client) if peers else (),
        resident_bytes=_resident(client),
        digest_bytes=read_digest_size(client).memory if memory else None,
    )


def _variables(client: AdminClient) -> dict[str, str]:
    rows = client.query("SELECT variable_name, variable_value FROM runtime_global_variables")
    return {str(name): value or "" for name, value in rows}


def _families(
    tables: Mapping[str, TableRows], layouts: Mapping[str, Layout], variables: Mapping[str, str]
) -> tuple[Family, ...]:
    """Return the families whose nodes the monitor places now."""
    if variables.get("mysql-monitor_enabled") != "true":
        return ()
    rows = {
        name: tables[name].rows[Layer.RUNTIME].values() for name in FAMILY_TABLES if name in tables
    }
    discovery = variables.get("mysql-monitor_aws_rds_topology_discovery_interval", "0")
    return tuple(families_in(layouts, rows, rds_discovery=discovery != "0"))


def _protocol(client: AdminClient, name: str) -> Protocol:
    """Return the servers of `mysql` or `pgsql`, whose tables have the same columns, and their uses.

    A rule that answers by itself sends nothing anywhere.
    """
    number = client.number
    servers = client.query(
        "SELECT hostgroup_id, hostname, port, status, weight, max_connections, use_ssl"
        f" FROM runtime_{name}_servers WHERE status<>'OFFLINE_HARD'",
    )
    uses = client.query(
        "SELECT 'rule', destination_hostgroup, count(*), min(rule_id)"
        f" FROM runtime_{name}_query_rules WHERE destination_hostgroup>=0"
        " AND error_msg IS NULL AND OK_msg IS NULL GROUP BY destination_hostgroup"
        " UNION ALL SELECT 'fast-routing row', destination_hostgroup, count(*), ''"
        f" FROM runtime_{name}_query_rules_fast_routing GROUP BY destination_hostgroup"
        " UNION ALL SELECT 'user', default_hostgroup, count(*), min(username)"
        f" FROM runtime_{name}_users WHERE frontend=1 GROUP BY default_hostgroup",
    )
    return Protocol(
        name,
        tuple(
            Server(
                number(hostgroup),
                str(host),
                number(port),
                str(status).upper(),
                number(weight),
                number(limit),
                use_ssl == "1",
            )
            for hostgroup, host, port, status, weight, limit, use_ssl in servers
        ),
        tuple(
            Use(str(kind), number(hostgroup), number(count), str(first))
            for kind, hostgroup, count, first in uses
        ),
    )


def _rules(client: AdminClient) -> tuple[Rule, ...]:
    rows = client.query(
        "SELECT rule_id, apply, match_digest IS NOT NULL, replace_pattern IS NOT NULL, re_modifiers"
        " FROM runtime_mysql_query_rules ORDER BY rule_id",
    )
    return tuple(
        Rule(
            client.number(rule_id),
            apply == "1",
            matches == "1",
            replaces == "1",
            "CASELESS" in (modifiers or "").upper(),
        )
        for rule_id, apply, matches, replaces, modifiers in rows
    )


def _users_with_tls(client: AdminClient) -> tuple[str, ...]:
    rows = client.query(
        "SELECT username FROM runtime_mysql_users WHERE frontend=1 AND use_ssl=1 ORDER BY username",
    )
    return tuple(str(name) for (name,) in rows)


_LOGS = {
    "connect": "connect_error",
    "ping": "ping_error",
    "read_only": "error",
    "replication_lag": "error",
    "galera": "error",
    "group_replication": "error",
}
"""Logs of the monitor, and the column of their error."""


def _monitor_logs(client: AdminClient) -> tuple[MonitorLog, ...]:
    rows = query_whole(client, " UNION ALL ".join(_newest(*one) for one in _LOGS.items()), width=6)
    number = client.number
    return tuple(
        MonitorLog(
            str(log), (str(host), number(port)), number(at) / 1e6, error, number(since) / 1e6
        )
        for log, host, port, at, error, since in rows
    )


def _newest(log: str, error: str) -> str:
    # SQLite gives the other columns of the row that has the maximum. Window functions are not used:
    # this ProxySQL may be of 2018.
    table = f"monitor.mysql_server_{log}_log"
    return (
        f"SELECT '{log}', l.hostname, l.port, max(l.time_start_us), l.{error},"
        f" (SELECT min(f.time_start_us) FROM {table} f WHERE f.hostname=l.hostname"
        " AND f.port=l.port AND f.time_start_us > s.ok)"
        f" FROM {table} l JOIN (SELECT hostname, port,"
        f" max(CASE WHEN {error} IS NULL THEN time_start_us ELSE 0 END) AS ok FROM {table}"
        " GROUP BY hostname, port) s ON s.hostname=l.hostname AND s.port=l.port"
        " GROUP BY l.hostname, l.port"
    )


_POOL_DESCRIBED_SINCE = Version(2, 0, 4)
_MOST_CONNECTIONS = 5_000


def _pooled_versions(client: AdminClient, nodes: Collection[Node]) -> dict[Node, str]:
    """Return the versions that unused connections to these servers were told.

    Nothing where there are very many connections: ProxySQL describes each of them.
    """
    if client.version < _POOL_DESCRIBED_SINCE:
        return {}
    ((count,),) = client.query("SELECT coalesce(sum(ConnFree), 0) FROM stats_mysql_connection_pool")
    if client.number(count) > _MOST_CONNECTIONS:
        return {}
    rows = client.query(
        "SELECT DISTINCT srv_host, srv_port, json_extract(mysql_info, '$.server_version')"
        " FROM stats_mysql_free_connections",
    )
    found = {(str(host), client.number(port)): text for host, port, text in rows if text}
    return {node: found[node] for node in nodes if node in found}


def _resident(client: AdminClient) -> int | None:
    """Return the memory that the history has last; None where it is not kept. Units: bytes."""
    newest = "SELECT resident FROM stats_history.system_memory ORDER BY timestamp DESC LIMIT 1"
    rows = query_whole(client, newest, width=1)
    return client.number(rows[0][0]) if rows and rows[0][0] is not None else None
