"""Asks the servers behind ProxySQL directly, all at once, what they say of themselves."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor

from proxyctl.admin.backend import Account, BackendRefusedError, backend
from proxyctl.errors import ConnectionLostError
from proxyctl.families import Node
from proxyctl.nodes.model import Said

_AT_ONCE = 100
"""Many that do not answer must not make the others wait. They cost a thread each, which waits."""
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


def ask_nodes(nodes: Collection[Node], account: Account) -> dict[Node, Said]:
    """Return what every node says of itself; one that cannot be reached says why."""
    if not nodes:
        return {}
    with ThreadPoolExecutor(min(_AT_ONCE, len(nodes))) as pool:
        return dict(zip(nodes, pool.map(lambda node: _ask(node, account), nodes), strict=True))


def _ask(node: Node, account: Account) -> Said:
    try:
        with backend(node, account) as connection:
            status = _by_name(connection.query(_show("STATUS", _STATUS)))
            variables = _by_name(connection.query(_show("VARIABLES", _VARIABLES)))
            offers_tls = connection.offers_tls
    except (BackendRefusedError, ConnectionLostError) as error:
        return Said(unreachable=error.message.removeprefix(f"{node[0]}:{node[1]}: "))
    return Said(
        version=variables.get("version", ""),
        offers_tls=offers_tls,
        status=status,
        variables=variables,
    )


def _by_name(rows: Collection[tuple[str | None, ...]]) -> dict[str, str]:
    return {name.lower(): value for name, value in rows if name is not None and value is not None}


def _show(what: str, names: Collection[str]) -> str:
    wanted = ",".join(f"'{name}'" for name in names)
    return f"SHOW GLOBAL {what} WHERE Variable_name IN ({wanted})"
