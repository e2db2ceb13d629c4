"""A Galera family that the monitor has placed, on the sandbox or behind a real ProxySQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proxyctl.sandbox import Sandbox
from tests.support.servers.galera_nodes import GaleraCluster
from tests.support.servers.instances import Instance, ProxySQL, Record, free_port, needed_binary
from tests.support.servers.monitor import place
from tests.support.servers.placement_samples import online, placement, settle

HOSTS = ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
CHECK_MS = 2000
"""How often the monitor of a real ProxySQL checks the nodes."""

FILES = """\
version: 1
pxc_clusters:
  - name: shop
    writer_hostgroup: 10
    backup_writer_hostgroup: 20
    reader_hostgroup: 30
    offline_hostgroup: 40
    writer_is_also_reader: 2
    node_defaults: {{port: {port}}}
    nodes:
      - {{hostname: 127.0.1.1}}
      - {{hostname: 127.0.1.2}}
      - {{hostname: 127.0.1.3}}
mysql_query_rules:
  - {{rule_id: 1, match_digest: '^SELECT', destination_hostgroup: 30, apply: true}}
"""


@dataclass
class GaleraFamily:
    """An instance that holds the servers of `files`, placed: one writer, the others read."""

    instance: Instance
    files: str
    port: int

    @property
    def writer(self) -> str:
        """The node that takes writes now."""
        (host,) = online(placement(self.instance, usable=True)[10])
        return host

    def cells(
        self, columns: str, host: str, layer: str = "runtime_"
    ) -> set[tuple[str | None, ...]]:
        """Return these columns of all rows of a node in a layer: `runtime_`, `` or `disk.`."""
        return set(
            self.instance.query(
                f"SELECT {columns} FROM {layer}mysql_servers"
                f" WHERE hostname='{host}' AND status<>'OFFLINE_HARD'"
            )
        )

    def servers(self, layer: str) -> list[Record]:
        """Return every row of mysql_servers in a layer."""
        return self.instance.query(
            f"SELECT * FROM {layer}mysql_servers ORDER BY hostgroup_id, hostname"
        )


@contextmanager
def on_sandbox(apply: Callable[[Instance, str], None]) -> Iterator[GaleraFamily]:
    """Yield the family on a sandbox whose monitor is played. `apply` is given the files."""
    port = 3306
    with Sandbox(variables={"mysql-monitor_enabled": "true"}) as sandbox:
        instance = Instance(sandbox.host, sandbox.port, sandbox=sandbox)
        apply(instance, FILES.format(port=port))
        place(sandbox, 10, writers=[(HOSTS[0], port)])
        yield GaleraFamily(instance, FILES.format(port=port), port)
        instance.close()


@contextmanager
def monitored_proxysql(folder: Path, check_ms: int = CHECK_MS) -> Iterator[ProxySQL]:
    """Start a ProxySQL whose monitor checks the nodes every `check_ms`."""
    server = ProxySQL(needed_binary(), folder, monitor=True)
    with server:
        for name, value in {
            "mysql-monitor_galera_healthcheck_interval": str(check_ms),
            "mysql-monitor_ping_interval": "1000",
        }.items():
            server.instance.execute(
                f"UPDATE global_variables SET variable_value='{value}' WHERE variable_name='{name}'"
            )
        server.instance.load("MYSQL VARIABLES", saves=True)
        yield server


@contextmanager
def on_proxysql(folder: Path, apply: Callable[[Instance, str], None]) -> Iterator[GaleraFamily]:
    """Yield the family behind a real ProxySQL, whose monitor asks simulated nodes."""
    with (
        GaleraCluster(HOSTS, free_port()) as nodes,
        monitored_proxysql(folder, check_ms=1000) as server,
    ):
        files = FILES.format(port=nodes.port)
        apply(server.instance, files)
        settle(server.instance, HOSTS)
        yield GaleraFamily(server.instance, files, nodes.port)
