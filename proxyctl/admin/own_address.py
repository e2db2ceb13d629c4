"""Which of the members that are listed is the instance itself, by what it says.

We may have come by another name, a tunnel or a socket. A member that is listed asks itself as it
asks the others, under its uuid, and notes who asks it, and from where.
"""

from __future__ import annotations

from collections.abc import Collection

from proxyctl.admin.client import AdminClient
from proxyctl.admin.host_names import addresses_of_each
from proxyctl.admin.whole_answer import query_whole
from proxyctl.families import Node

_SINCE = (2, 4, 0)
"""The first ProxySQL whose uuid can be read."""
_UUID = "SELECT variable_value FROM disk.global_settings WHERE variable_name='uuid'"


def read_uuid(client: AdminClient) -> str:
    """Return by what an instance knows itself, whoever asks; '' where it does not tell.

    Raises: InstanceError.
    """
    if client.version < _SINCE:
        return ""
    rows = client.query(_UUID)
    return str(rows[0][0]) if rows else ""


def read_itself(client: AdminClient, listed: Collection[Node]) -> Node | None:
    """Return the listed member that is this instance; None where that is not plain to see.

    Raises: InstanceError.
    """
    if client.version < _SINCE:
        return None
    seen = query_whole(
        client,
        "SELECT hostname, admin_mysql_ifaces FROM stats_proxysql_servers_clients_status"
        f" WHERE uuid IN ({_UUID})",
        width=2,
    )
    found: set[Node] = set()
    for host, ifaces in seen:
        ports = {one.rpartition(":")[2] for one in (ifaces or "").split(";")}
        answering = [node for node in listed if str(node[1]) in ports]
        addresses = addresses_of_each({str(node[0]) for node in answering})
        found.update(node for node in answering if host in addresses[str(node[0])])
    return found.pop() if len(found) == 1 else None
