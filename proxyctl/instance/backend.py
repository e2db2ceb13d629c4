"""Connect to the servers behind ProxySQL, and ask them all at once."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import (
    code_and_text,
    decoded,
    unreachable_reason,
    unsafe_method_reason,
)
from proxyctl.instance.facts import read_variables
from proxyctl.state.families import Node

if TYPE_CHECKING:
    from pymysql.connections import Connection
_TIMEOUT_S = 3.0


_NO_MONITOR_USER = "no account to log in with: mysql-monitor_username is empty"


@dataclass(frozen=True)
class Account:
    """A login at the servers; none if `user` is empty. `password` never appears in a repr."""

    user: str
    password: str

    def __repr__(self) -> str:
        return f"Account({self.user})"


def monitor_account(client: AdminClient) -> Account:
    """Return the account of ProxySQL's monitor; it may be empty. Raises: InstanceError."""
    values = read_variables(client, "mysql-monitor_username", "mysql-monitor_password")
    return Account(
        values.get("mysql-monitor_username", ""), values.get("mysql-monitor_password", "")
    )


class BackendError(InstanceError):
    """The server is unreachable, refuses the login, or answers with an error."""


class Backend:
    """An open connection to one server. Every error names the server."""

    def __init__(self, node: Node, connection: Connection[Any]) -> None:
        self.name = f"{node[0]}:{node[1]}"
        self._connection = connection

    @property
    def offers_tls(self) -> bool:
        """Whether the greeting of the server offers TLS."""
        from pymysql.constants import CLIENT

        # PyMySQL's types lack this attribute.
        capabilities: int = self._connection.server_capabilities  # type: ignore[attr-defined]
        return bool(capabilities & CLIENT.SSL)

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        """Return the rows of a fixed statement, as text.

        Bytes that are not UTF-8 are surrogate escapes. Raises: BackendError.
        """
        import pymysql

        try:
            with self._connection.cursor() as cursor:
                cursor.execute(sql)
                rows = list(cursor.fetchall())
        except (pymysql.err.MySQLError, OSError) as error:
            raise BackendError(f"{self.name}: {_reason(error)}", then=[f"  in: {sql}"]) from error
        return [tuple(None if cell is None else decoded(cell) for cell in row) for row in rows]


@contextmanager
def backend(node: Node, account: Account) -> Iterator[Backend]:
    """Connect to a server until the context ends.

    Raises: BackendError, whose text does not name the server.
    """
    host, port = node
    if not account.user:  # PyMySQL would log in as the user of this machine
        raise BackendError(_NO_MONITOR_USER)
    if not port:
        raise BackendError("a Unix socket of the machine that ProxySQL runs on")
    with closing(_open(str(host), int(str(port)), account)) as connection:
        yield Backend(node, connection)


def _open(host: str, port: int, account: Account) -> Connection[Any]:
    import pymysql
    from pymysql.connections import Connection
    from pymysql.constants import CR
    from pymysql.converters import encoders

    class BackendConnection(Connection):
        """A connection that never sends the password in clear text."""

        def _create_ssl_ctx(self, _options: object) -> ssl.SSLContext:
            return _tls_where_offered()

        def _process_auth(self, plugin_name: bytes, *rest: Any) -> Any:  # noqa: ANN401 - PyMySQL's
            reason = unsafe_method_reason(plugin_name)
            if reason:
                raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_CANNOT_LOAD, reason)
            return super()._process_auth(plugin_name, *rest)  # type: ignore[misc]

    # Read every column as text, whatever its type.
    without_decoders: Any = encoders
    try:
        return BackendConnection(
            host=host,
            port=port,
            user=account.user.encode("utf-8", "surrogateescape"),
            # PyMySQL would encode text as latin1.
            password=account.password.encode("utf-8", "surrogateescape"),
            connect_timeout=_TIMEOUT_S,
            read_timeout=_TIMEOUT_S,
            use_unicode=False,
            conv=without_decoders,
            autocommit=True,
        )
    except RuntimeError as error:
        # PyMySQL raises this where the password would need encryption without TLS.
        reason = (
            "the server asks for the clear-text password without TLS; the password was not sent"
        )
        raise BackendError(reason) from error
    except (pymysql.err.MySQLError, OSError, ValueError) as error:  # ValueError: no host name
        raise BackendError(_reason(error)) from error


@cache
def _tls_where_offered() -> ssl.SSLContext:
    """Return the TLS context of all servers, without verification, as PyMySQL does by default.

    A default context loads the machine's certificates, which takes 30 ms each time.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _reason(error: Exception) -> str:
    """Return the error as one line that is not empty."""
    if reason := unreachable_reason(error, _TIMEOUT_S):
        return reason
    _, text = code_and_text(error)
    return next((line for line in text.splitlines() if line.strip()), type(error).__name__)


_MAX_THREADS = 100
"""A silent server occupies a thread, and must not delay the other servers."""


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


def ask_nodes(nodes: Collection[Node], account: Account) -> dict[Node, NodeAnswer]:
    """Return the answer of every node, or the error of an unreachable node."""
    if not nodes:
        return {}
    with ThreadPoolExecutor(min(_MAX_THREADS, len(nodes))) as pool:
        return dict(zip(nodes, pool.map(lambda node: _ask(node, account), nodes), strict=True))


def _ask(node: Node, account: Account) -> NodeAnswer:
    try:
        with backend(node, account) as connection:
            status = _by_name(connection.query(_show("STATUS", _STATUS)))
            variables = _by_name(connection.query(_show("VARIABLES", _VARIABLES)))
            offers_tls = connection.offers_tls
    except BackendError as error:
        return NodeAnswer(unreachable=error.message.removeprefix(f"{node[0]}:{node[1]}: "))
    return NodeAnswer(
        version=variables.get("version", ""),
        offers_tls=offers_tls,
        status=status,
        variables=variables,
    )


def _by_name(rows: Collection[tuple[str | None, ...]]) -> dict[str, str]:
    return {name.lower(): value for name, value in rows if name is not None and value is not None}


def _show(kind: str, names: Collection[str]) -> str:
    listed = ",".join(f"'{name}'" for name in names)
    return f"SHOW GLOBAL {kind} WHERE Variable_name IN ({listed})"


def addresses_of_each(hosts: Collection[str]) -> dict[str, frozenset[str]]:
    """Return the name and the addresses of each host."""
    return {host: frozenset({host, *_addresses(host)}) for host in hosts}


def _addresses(host: str) -> frozenset[str]:
    """Return the addresses of a host; empty if this machine cannot resolve the name."""
    try:
        return frozenset(str(entry[4][0]) for entry in socket.getaddrinfo(host, None))
    except (OSError, UnicodeError):
        return frozenset()


@dataclass(frozen=True)
class NodeAnswer:
    """The direct answer of a node; `unreachable` is the error if there is no answer.

    `status` and `variables` hold wsrep_* and a few more, by lower-case name. `offers_tls` None:
    unknown.
    """

    unreachable: str | None = None
    version: str = ""
    offers_tls: bool | None = None
    status: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)
