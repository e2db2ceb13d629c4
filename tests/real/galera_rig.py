"""A real ProxySQL in front of simulated Galera nodes, with plans and applies of their rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from proxyctl.apply.execute import apply_plan
from proxyctl.apply.request import Reporter
from proxyctl.catalog import REFERENCE
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import Login
from proxyctl.instance.lock import Lock
from proxyctl.plan.inspect import inspect, read_info
from proxyctl.plan.make import PlanOptions, make
from proxyctl.plan.plan import Plan
from proxyctl.rows.desired import Desired
from tests.support.build import desired
from tests.support.servers.galera_family import CHECK_MS
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import ProxySQL
from tests.support.servers.placement_samples import online, placement

GROUPS = {
    "writer_hostgroup": 10,
    "backup_writer_hostgroup": 20,
    "reader_hostgroup": 30,
    "offline_hostgroup": 40,
    "writer_is_also_reader": 2,
}


def files(cluster: GaleraCluster, hosts: list[str], **attributes: dict[str, int]) -> Desired:
    nodes = [
        {"hostgroup_id": 10, "hostname": host, "port": cluster.port, **attributes.get(host, {})}
        for host in hosts
    ]
    rule = {"rule_id": 1, "match_digest": "^SELECT", "destination_hostgroup": 30, "apply": 1}
    return Desired(
        {
            "mysql_galera_hostgroups": desired("mysql_galera_hostgroups", GROUPS),
            "mysql_servers": desired("mysql_servers", *nodes),
            "mysql_query_rules": desired("mysql_query_rules", rule),
        },
        REFERENCE,
    )


def with_rule(wanted: Desired, hostgroup: int, digest: str = "^SELECT") -> Desired:
    """Add a rule. If rule and servers leave a hostgroup, MYSQL SERVERS has two LOADs."""
    rule = {
        "rule_id": 1,
        "match_digest": digest,
        "destination_hostgroup": hostgroup,
        "apply": 1,
    }
    tables = {**wanted.tables, "mysql_query_rules": desired("mysql_query_rules", rule)}
    return replace(wanted, tables=tables)


def login(server: ProxySQL) -> Login:
    return Login(port=server.port, user="radmin", password="radmin")


def apply(
    server: ProxySQL,
    wanted: Desired,
    progress: Callable[[str], None] = lambda _: None,
    *,
    force: bool = False,
) -> list[str]:
    """Apply these rows; return the announced steps."""
    steps: list[str] = []

    def record(step: str) -> None:
        steps.append(step)
        progress(step)

    with AdminClient(login(server)) as client:
        lock = Lock(client, "apply")
        lock.take(timeout_s=5)
        found = make(wanted, inspect(client, wanted, read_info(client)), PlanOptions(force=force))
        try:
            apply_plan(client, found, lock, Reporter(record))
        finally:
            lock.release()
    return steps


def plan(server: ProxySQL, wanted: Desired) -> Plan:
    with AdminClient(login(server)) as client:
        return make(wanted, inspect(client, wanted, read_info(client)))


def writer_of(server: ProxySQL) -> str:
    """Return the writer."""
    (found,) = online(placement(server.instance)[10])
    return found


def checks(count: float) -> None:
    """Wait while the monitor checks the nodes this many times."""
    time.sleep(CHECK_MS / 1000 * count)


def limits(server: ProxySQL, host: str) -> set[tuple[str | None, ...]]:
    """Return weight and max_connections of a node at RUNTIME, in any hostgroup."""
    return set(
        server.instance.query(
            f"SELECT weight, max_connections FROM runtime_mysql_servers WHERE hostname='{host}'"
        )
    )
