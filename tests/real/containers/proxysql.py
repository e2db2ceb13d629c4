"""A ProxySQL in a container, with its admin and traffic ports on loopback."""

from __future__ import annotations

from typing import Self

import pymysql
from testcontainers.core.network import Network

from tests.real.containers.galera import Published, wait_until
from tests.real.containers.images import PROXYSQL
from tests.support.servers.instances import REMOTE_ADMIN, Instance

_ADMIN, _TRAFFIC = 6032, 6033
_CONFIG = b"""\
datadir="/var/lib/proxysql"
admin_variables= { admin_credentials="admin:admin;radmin:radmin" mysql_ifaces="0.0.0.0:6032" }
mysql_variables= { interfaces="0.0.0.0:6033" monitor_galera_healthcheck_interval=1000 }
"""


class ProxySQLContainer:
    """One ProxySQL. `traffic_port` and `instance.port` are on loopback."""

    def __init__(self, host: str, network: Network) -> None:
        self.host = host
        self._container = Published(
            PROXYSQL,
            network=network,
            network_aliases=[host],
            hostname=host.partition(".")[0],
            transferables=[(_CONFIG, "/etc/proxysql.cnf")],
        ).publish(_ADMIN, _TRAFFIC)

    def __enter__(self) -> Self:
        self._container.start()
        user, password = REMOTE_ADMIN
        self.instance = Instance("127.0.0.1", self._container.port(_ADMIN), user, password)
        self.traffic_port = self._container.port(_TRAFFIC)
        try:
            wait_until(self._answers, f"{self.host} answers")
        except BaseException:
            self._container.stop(force=True)
            raise
        return self

    def _answers(self) -> bool:
        try:
            self.instance.connect().close()
        except pymysql.err.OperationalError:
            return False
        return True

    def __exit__(self, *exc: object) -> None:
        self.instance.close()
        self._container.stop(force=True)
