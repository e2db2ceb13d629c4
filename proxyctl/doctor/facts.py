"""Read everything that the doctor needs from an instance into one frozen value.

`read_facts` sends SELECTs to the instance, and connects to its servers with the monitor's account.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from proxyctl.catalog import Version
from proxyctl.catalog.variable_rules import atoi
from proxyctl.instance.authentication import NO_TRUST, Trust
from proxyctl.instance.backend import Account, NodeAnswer, ask_nodes
from proxyctl.instance.certificate import Certificate, read_certificate
from proxyctl.instance.client import AdminClient
from proxyctl.instance.cluster import Membership, read_membership
from proxyctl.instance.facts import read_pool, read_variables
from proxyctl.instance.lethal import read_mistyped, tables_with_mistyped_cells
from proxyctl.instance.read import TableLayers, query_whole, read_layouts, read_tables
from proxyctl.plan.diff import TableDiff, diff_table
from proxyctl.proxysql.cell_types import MistypedCells
from proxyctl.proxysql.servers import Server, server_reader
from proxyctl.proxysql.topology import Family, MonitorSettings, Node, Topologies, Topology
from proxyctl.rows.row import SENSITIVE, Layer, sorted_keys
from proxyctl.stats.read import read_digest_memory


class RuntimeRule(NamedTuple):
    """A row of mysql_query_rules at RUNTIME."""

    rule_id: int
    apply: bool = False
    matches_digest: bool = False
    replaces: bool = False
    is_caseless: bool = True


@dataclass(frozen=True)
class Use:
    """Rows of one kind that send queries to a hostgroup."""

    kind: str
    """One of `rule`, `fast-routing row` and `user`."""
    hostgroup: int
    """The hostgroup that receives the queries."""
    count: int
    """The number of rows."""
    first: str
    """The lowest rule_id or user name; '' for fast routing."""


class MonitorLog(NamedTuple):
    """The newest line on a server in a log of the monitor.

    Units: unix seconds.
    """

    log: str
    """One of `connect`, `ping`, `read_only`, `replication_lag`, `galera` and
    `group_replication`."""
    node: Node
    """The server."""
    at: float
    """The start of the last check."""
    error: str | None = None
    """The error of the check; None if it succeeded."""
    failing_since: float = 0
    """The first error after the last success, as far as the log goes back."""


class Protocol(NamedTuple):
    """The servers of one protocol, and the uses of their hostgroups."""

    name: str
    """The protocol: `mysql` or `pgsql`."""
    servers: tuple[Server, ...] = ()
    """The servers at RUNTIME that are not OFFLINE_HARD, sorted by key."""
    uses: tuple[Use, ...] = ()
    """The uses of each hostgroup by rules, fast routing and users."""


@dataclass(frozen=True)
class Facts:
    """The facts about one instance."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version_text: str
    """The version as the instance reports it."""
    version: Version
    """The same, parsed."""
    now: int
    """The current time by the instance's clock. Units: unix seconds."""
    variables: Mapping[str, str]
    """The variables at RUNTIME, by full name."""
    hostgroup_names: Mapping[int, str]
    """The names from the files, by number."""
    mysql: Protocol
    """The MySQL servers and the uses of their hostgroups."""
    pgsql: Protocol
    """The same of PostgreSQL; empty before ProxySQL 3.0."""
    families: tuple[Family, ...]
    """The MySQL families that the monitor places."""
    rules: tuple[RuntimeRule, ...]
    """The MySQL query rules at RUNTIME."""
    users_with_tls: tuple[str, ...]
    """The frontend users with use_ssl 1."""
    monitor_logs: tuple[MonitorLog, ...]
    """The newest line on each server in each log of the monitor."""
    diffs: Mapping[str, TableDiff]
    """Each table in its three layers, by catalogue name."""
    answers: Mapping[Node, NodeAnswer]
    """The answers of the servers that proxyctl asked."""
    versions: Mapping[Node, str]
    """The versions of servers, from their answers or otherwise from pooled connections."""
    membership: Membership
    """The ProxySQL Cluster as the instance sees it."""
    resident_bytes: int | None
    """The last memory size in the history; None if the history has no value."""
    digest_bytes: int | None
    """The memory of the digests; None if the user did not ask for it."""
    certificate: Certificate | None = None
    """The certificate that it shows to clients; None without TLS."""
    mistyped: tuple[MistypedCells, ...] = ()
    """The cells of MEMORY with another type than ProxySQL reads."""
    secret_variables: frozenset[str] = frozenset()
    """The variables that the files take from a reference."""

    def shown(self, variable: str, text: str) -> str:
        """Return a text of a variable as findings show it."""
        return SENSITIVE if variable in self.secret_variables else text

    @property
    def is_sandbox(self) -> bool:
        """Whether the instance is a sandbox, which only has the tables of a ProxySQL release."""
        return self.version_text.endswith("-sandbox")

    def is_on(self, name: str) -> bool:
        """Return whether a boolean variable is true at RUNTIME."""
        return is_true(self.variables, name)

    def number(self, name: str) -> int:
        """Return an integer variable at RUNTIME; 0 if this ProxySQL does not have it."""
        return atoi(self.variables.get(name, ""))

    @cached_property
    def rows_by_node(self) -> dict[Node, list[Server]]:
        """The rows of each MySQL server at RUNTIME, sorted by hostgroup."""
        rows: dict[Node, list[Server]] = {}
        for server in sorted(self.mysql.servers):
            rows.setdefault(server.node, []).append(server)
        return rows


def is_true(variables: Mapping[str, str], name: str) -> bool:
    """Return whether a boolean variable is true."""
    return variables.get(name, "").lower() in ("true", "1")


_HAVE_SSL = "mysql-have_ssl"


def read_facts(
    client: AdminClient,
    trust: Trust = NO_TRUST,
    *,
    asks: bool = True,
    memory: bool = False,
    hostgroup_names: Mapping[int, str] | None = None,
    secret_variables: frozenset[str] = frozenset(),
) -> Facts:
    """Return all facts about one instance.

    `asks`: connect to the servers, as the monitor would; `trust`: what lets them have its password.
    `memory`: have ProxySQL add up its digests, for which queries wait. Raises: InstanceError.
    """
    variables = read_variables(client)
    layouts = read_layouts(client)
    # Read the tables first: numbers that would end ProxySQL are refused before RUNTIME is read.
    tables = read_tables(client, layouts.values())
    topology = _topology(tables, MonitorSettings.of(variables))
    topologies = Topologies(memory=topology)
    diffs = {
        name: diff_table(layout, None, tables[name].rows, topologies)
        for name, layout in layouts.items()
    }
    mysql = _protocol(tables, "mysql")
    nodes = sorted({server.node for server in mysql.servers}, key=str)
    user, password = (
        variables.get(f"mysql-monitor_{name}", "") for name in ("username", "password")
    )
    answers = ask_nodes(nodes, Account(user, password, trust)) if asks else {}
    versions = {node: answer.version for node, answer in answers.items() if answer.version}
    if len(versions) < len(nodes):
        versions = _pooled_versions(client, nodes) | versions
    return Facts(
        name=client.name,
        address=client.address,
        version_text=client.version_text,
        version=client.version,
        now=client.number(client.query("SELECT strftime('%s','now')")[0][0]),
        variables=variables,
        hostgroup_names=hostgroup_names or {},
        mysql=mysql,
        pgsql=_protocol(tables, "pgsql"),
        families=topology.of_protocol("mysql").families,
        rules=_rules(tables),
        users_with_tls=_users_with_tls(tables),
        monitor_logs=_monitor_logs(client),
        diffs=diffs,
        answers=answers,
        versions=dict(sorted(versions.items(), key=str)),
        membership=read_membership(client),
        resident_bytes=_resident(client),
        digest_bytes=read_digest_memory(client) if memory else None,
        certificate=read_certificate(client) if is_true(variables, _HAVE_SSL) else None,
        mistyped=_mistyped(client, tables),
        secret_variables=secret_variables,
    )


def _mistyped(client: AdminClient, tables: Mapping[str, TableLayers]) -> tuple[MistypedCells, ...]:
    requests = [(table.layout, Layer.MEMORY) for table in tables.values()]
    names = tables_with_mistyped_cells(client, requests)
    return tuple(
        cells
        for name, table in tables.items()
        for cells in (read_mistyped(client, table.layout) if name in names else table.mistyped)
    )


def _topology(tables: Mapping[str, TableLayers], settings: MonitorSettings) -> Topology:
    """Return the families of either protocol whose nodes its monitor places now."""
    layouts = {name: table.layout for name, table in tables.items()}
    rows = {name: table.rows[Layer.RUNTIME].values() for name, table in tables.items()}
    return Topology.of(layouts, rows, settings)


def _cells(tables: Mapping[str, TableLayers], name: str, *columns: str) -> Iterator[Any]:
    """Yield these columns of each row of a table at RUNTIME, if the table exists.

    Shape: one tuple per row, sorted by key.
    """
    table = tables.get(name)
    if table is not None:
        positions = [table.layout.index[column] for column in columns]
        rows = table.rows[Layer.RUNTIME]
        for key in sorted_keys(rows):
            yield tuple(rows[key][position] for position in positions)


def _protocol(tables: Mapping[str, TableLayers], name: str) -> Protocol:
    """Return the servers of `mysql` or `pgsql`, and the uses of their hostgroups.

    A rule with error_msg or OK_msg uses no hostgroup.
    """
    of_rules = ("destination_hostgroup", "rule_id", "error_msg", "OK_msg")
    rules = [
        (hostgroup, str(rule_id))
        for hostgroup, rule_id, *answers in _cells(tables, f"{name}_query_rules", *of_rules)
        if hostgroup is not None and answers == [None, None]
    ]
    routes = [
        (hostgroup, "")
        for (hostgroup,) in _cells(
            tables, f"{name}_query_rules_fast_routing", "destination_hostgroup"
        )
    ]
    users = [
        (hostgroup, str(user))
        for hostgroup, user, is_frontend in _cells(
            tables, f"{name}_users", "default_hostgroup", "username", "frontend"
        )
        if is_frontend
    ]
    return Protocol(
        name,
        _servers(tables.get(f"{name}_servers")),
        (*_uses("rule", rules), *_uses("fast-routing row", routes), *_uses("user", users)),
    )


def _servers(table: TableLayers | None) -> tuple[Server, ...]:
    """Return the servers at RUNTIME that are not OFFLINE_HARD, sorted by key."""
    if table is None:
        return ()
    rows = table.rows[Layer.RUNTIME]
    servers = map(server_reader(table.layout), (rows[key] for key in sorted_keys(rows)))
    return tuple(server for server in servers if not server.is_off)


def _uses(kind: str, rows: Iterable[tuple[int, str]]) -> Iterator[Use]:
    """Yield the use of each hostgroup. `rows`: hostgroup and name, sorted by key."""
    senders: dict[int, list[str]] = {}
    for hostgroup, name in rows:
        senders.setdefault(hostgroup, []).append(name)
    for hostgroup, names in senders.items():
        yield Use(kind, hostgroup, len(names), names[0])


def _rules(tables: Mapping[str, TableLayers]) -> tuple[RuntimeRule, ...]:
    columns = ("rule_id", "apply", "match_digest", "replace_pattern", "re_modifiers")
    return tuple(
        RuntimeRule(
            rule_id,
            bool(apply),
            digest is not None,
            replacement is not None,
            "CASELESS" in (modifiers or "").upper(),
        )
        for rule_id, apply, digest, replacement, modifiers in _cells(
            tables, "mysql_query_rules", *columns
        )
    )


def _users_with_tls(tables: Mapping[str, TableLayers]) -> tuple[str, ...]:
    users = _cells(tables, "mysql_users", "username", "frontend", "use_ssl")
    return tuple(str(name) for name, is_frontend, use_ssl in users if is_frontend and use_ssl)


_LOGS = {
    "connect": "connect_error",
    "ping": "ping_error",
    "read_only": "error",
    "replication_lag": "error",
    "galera": "error",
    "group_replication": "error",
}
"""Logs of the monitor, and their columns with the error."""


def _monitor_logs(client: AdminClient) -> tuple[MonitorLog, ...]:
    rows = query_whole(
        client, " UNION ALL ".join(_newest(*item) for item in _LOGS.items()), width=6
    )
    number = client.number
    return tuple(
        MonitorLog(
            str(log), (str(host), number(port)), number(at) / 1e6, error, number(since) / 1e6
        )
        for log, host, port, at, error, since in rows
    )


def _newest(log: str, error: str) -> str:
    # SQLite returns the other columns from the row with the maximum. There are no window functions:
    # a ProxySQL of 2018 does not have them.
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


_MOST_CONNECTIONS = 5_000


def _pooled_versions(client: AdminClient, nodes: Collection[Node]) -> dict[Node, str]:
    """Return the server versions of unused connections to these servers.

    Empty if there are too many connections: ProxySQL describes every connection.
    """
    if sum(server.free for server in read_pool(client)) > _MOST_CONNECTIONS:
        return {}
    rows = client.query(
        # A SELECT that fails at malformed JSON is answered with fewer rows.
        "SELECT DISTINCT srv_host, srv_port, CASE WHEN json_valid(mysql_info)"
        " THEN json_extract(mysql_info, '$.server_version') END FROM stats_mysql_free_connections",
    )
    versions = {(str(host), client.number(port)): text for host, port, text in rows if text}
    return {node: versions[node] for node in nodes if node in versions}


def _resident(client: AdminClient) -> int | None:
    """Return the last memory size in the history; None if the history is empty. Units: bytes."""
    newest = "SELECT resident FROM stats_history.system_memory ORDER BY timestamp DESC LIMIT 1"
    rows = query_whole(client, newest, width=1)
    return client.number(rows[0][0]) if rows and rows[0][0] is not None else None
