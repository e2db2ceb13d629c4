"""A Galera cluster in containers, whose nodes can be killed, desynced and put into maintenance."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Self

import pymysql
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from tests.real.containers.images import PXC
from tests.support.waiting import until

ROOT_PASSWORD = "root"
MONITOR = ("monitor", "s3cret-of-monitor")
PORT = 3306
_OPTIONS = (
    # Certificates are no subject here: neither for the traffic between nodes,
    "--loose-pxc-encrypt-cluster-traffic=OFF"
    # nor for a log-in with caching_sha2_password, the default of MySQL 8.0.
    " --loose-default-authentication-plugin=mysql_native_password"
)
_DEADLINE_S = 300
"""A state transfer on a machine that does other things as well. Nothing is proven by waiting."""


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until the condition holds. Raises: AssertionError after a time limit."""
    until(is_so, most_s=_DEADLINE_S, what=f"still not so after {_DEADLINE_S} s: {what}")


class Published(DockerContainer):
    """A container whose ports are published on loopback only."""

    def publish(self, *ports: int) -> Self:
        """Publish ports on free ports of the host."""
        for port in ports:
            self.ports[f"{port}/tcp"] = ("127.0.0.1", None)
        return self

    def port(self, inside: int) -> int:
        """Return the loopback port of a container's port."""
        return int(self.get_exposed_port(inside))


class Node:
    """One node. `host` is its name on the network."""

    def __init__(self, host: str, cluster: str, network: Network) -> None:
        self.host = host
        self.name = host.partition(".")[0]
        self._cluster = cluster
        self._network = network
        self._container: Published | None = None

    def start(self, join: Iterable[str] = ()) -> None:
        """Start with an empty data directory, as the first node or joining the hosts."""
        environment = {"MYSQL_ROOT_PASSWORD": ROOT_PASSWORD, "CLUSTER_NAME": self._cluster}
        if hosts := ",".join(join):
            environment["CLUSTER_JOIN"] = hosts
        self._container = Published(
            PXC,
            command=_OPTIONS,
            env=environment,
            network=self._network,
            network_aliases=[self.host],
            hostname=self.name,
        ).publish(PORT)
        self._container.start()

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run a statement as root; return its rows."""
        assert self._container is not None
        with (
            closing(
                pymysql.connect(
                    host="127.0.0.1",
                    port=self._container.port(PORT),
                    user="root",
                    password=ROOT_PASSWORD,
                    autocommit=True,
                    connect_timeout=10,
                )
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(text)
            return list(cursor.fetchall())

    def status(self, name: str) -> str:
        """Return one of its status variables."""
        return str(self.sql(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1])

    def file(self, path: str) -> str:
        """Return the text of a file in its container."""
        assert self._container is not None
        code, text = self._container.exec(["cat", path])
        assert code == 0, text
        return str(text.decode())

    def begin_maintenance(self) -> None:
        """Put the node into maintenance.

        MariaDB has no pxc_maint_mode; there the node rejects queries, which takes it out of service
        in the same way.
        """
        self._set_maintenance("MAINTENANCE", "ALL")

    def end_maintenance(self) -> None:
        """End the maintenance."""
        self._set_maintenance("DISABLED", "NONE")

    def _set_maintenance(self, mode: str, rejected: str) -> None:
        if self.sql("SHOW GLOBAL VARIABLES LIKE 'pxc_maint_mode'"):
            self.sql(f"SET GLOBAL pxc_maint_mode='{mode}'")
        else:
            self.sql(f"SET GLOBAL wsrep_reject_queries='{rejected}'")

    @property
    def is_running(self) -> bool:
        """Whether there is a container."""
        return self._container is not None

    def is_synced(self) -> bool:
        """Return whether the node is in sync with the cluster."""
        if not self.is_running:
            return False
        try:
            return self.status("wsrep_local_state_comment") == "Synced"
        except (pymysql.err.MySQLError, IndexError):
            return False

    def kill(self) -> None:
        """Kill the node as a crash would, and delete its data."""
        assert self._container is not None
        self._container.stop(force=True)
        self._container = None

    def stop(self) -> None:
        """Remove the container, if there is one."""
        if self._container is not None:
            self.kill()


class GaleraCluster:
    """Nodes of one cluster, in sync once the context is entered."""

    def __init__(self, name: str, hosts: Iterable[str], network: Network) -> None:
        self.name = name
        self.nodes = {host: Node(host, name, network) for host in hosts}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def _start(self) -> None:
        first, *others = self.nodes.values()
        first.start()
        wait_until(first.is_synced, f"{first.host} is in sync")
        user, password = MONITOR
        first.sql(f"CREATE USER {user}@'%' IDENTIFIED BY '{password}'")
        first.sql(f"GRANT PROCESS, REPLICATION CLIENT ON *.* TO {user}@'%'")
        first.sql(f"GRANT SELECT ON performance_schema.* TO {user}@'%'")
        for node in others:
            node.start(join=[first.host])
        for node in others:
            wait_until(node.is_synced, f"{node.host} is in sync")

    def rejoin(self, host: str) -> Node:
        """Restart a killed node, and wait until it is in sync."""
        node = self.nodes[host]
        node.start(join=[other for other in self.nodes if other != host])
        wait_until(node.is_synced, f"{host} is in sync")
        return node

    def add(self, host: str, network: Network) -> Node:
        """Add a node."""
        self.nodes[host] = Node(host, self.name, network)
        return self.rejoin(host)

    @property
    def any_node(self) -> Node:
        """A node that is in sync."""
        return next(node for node in self.nodes.values() if node.is_synced())

    def __exit__(self, *exc: object) -> None:
        self._stop()

    def _stop(self) -> None:
        for node in self.nodes.values():
            node.stop()
