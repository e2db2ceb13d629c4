"""Asks the servers behind ProxySQL directly, as its monitor does: with the monitor's account."""

from __future__ import annotations

import socket
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from proxyctl.admin.client import AdminClient
from proxyctl.families import Node
from proxyctl.nodes.model import Said

TIMEOUT_S = 3
_AT_ONCE = 16
_STATUS = (
    "threads_connected",
    "wsrep_cluster_size",
    "wsrep_cluster_status",
    "wsrep_incoming_addresses",
    "wsrep_local_recv_queue",
    "wsrep_local_state_comment",
)
_VARIABLES = (
    "pxc_maint_mode",
    "read_only",
    "version",
    "version_comment",
    "wsrep_cluster_name",
    "wsrep_desync",
    "wsrep_node_name",
    "wsrep_provider_options",
    "wsrep_reject_queries",
)


@dataclass(frozen=True)
class Account:
    """Who asks. `password` never appears in a repr."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user})"


def monitor_account(client: AdminClient) -> Account:
    """Return the account that ProxySQL's monitor uses. Raises: InstanceError."""
    rows = client.query(
        "SELECT variable_name, variable_value FROM runtime_global_variables"
        " WHERE variable_name IN ('mysql-monitor_username','mysql-monitor_password')"
    )
    values = {str(name): value or "" for name, value in rows}
    return Account(
        values.get("mysql-monitor_username", ""), values.get("mysql-monitor_password", "")
    )


def ask_nodes(nodes: Collection[Node], account: Account) -> dict[Node, Said]:
    """Return what every node says of itself; one that cannot be reached says why."""
    if not nodes:
        return {}
    with ThreadPoolExecutor(min(_AT_ONCE, len(nodes))) as pool:
        return dict(zip(nodes, pool.map(lambda node: _ask(node, account), nodes), strict=True))


def _ask(node: Node, account: Account) -> Said:
    import pymysql
    from pymysql.constants import CLIENT

    host, port = node
    if not port:
        return Said(unreachable="a Unix socket of the machine that ProxySQL runs on")
    try:
        with (
            closing(
                pymysql.connect(
                    host=str(host),
                    port=int(str(port)),
                    user=account.user,
                    password=account.password,
                    connect_timeout=TIMEOUT_S,
                    read_timeout=TIMEOUT_S,
                )
            ) as connection,
            connection.cursor() as cursor,
        ):
            cursor.execute(_show("STATUS", _STATUS))
            status = {str(name).lower(): str(value) for name, value in cursor.fetchall()}
            cursor.execute(_show("VARIABLES", _VARIABLES))
            variables = {str(name).lower(): str(value) for name, value in cursor.fetchall()}
    except (pymysql.err.MySQLError, OSError, ValueError) as error:
        # ValueError: an answer that no MySQL gives.
        return Said(unreachable=_reason(error))
    # PyMySQL's types do not know what it keeps of the handshake.
    capabilities: int = connection.server_capabilities  # type: ignore[attr-defined]
    return Said(
        version=variables.get("version", ""),
        offers_tls=bool(capabilities & CLIENT.SSL),
        status=status,
        variables=variables,
    )


def addresses_of(host: str) -> frozenset[str]:
    """Return the addresses of a host, none where its name is not known here."""
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(host, None))
    except (OSError, UnicodeError):
        return frozenset()


def _show(what: str, names: Collection[str]) -> str:
    wanted = ",".join(f"'{name}'" for name in names)
    return f"SHOW GLOBAL {what} WHERE Variable_name IN ({wanted})"


def _reason(error: Exception) -> str:
    """Return why a node could not be asked, on one line."""
    arguments = error.args
    text = str(arguments[1] if len(arguments) > 1 else error)
    return text.splitlines()[0] if text else type(error).__name__
