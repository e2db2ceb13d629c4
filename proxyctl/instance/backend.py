"""Connect to the servers behind ProxySQL, and ask them all at once."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from proxyctl.errors import InstanceError
from proxyctl.instance.authentication import (
    NO_TRUST,
    PasswordAskedError,
    Trust,
    protected_connection,
)
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import NOT_UNDERSTOOD, code_and_text, decoded, unreachable_reason
from proxyctl.instance.facts import read_variables
from proxyctl.instance.sockets import ANSWER_LIMIT, AnswerTooLargeError, connected
from proxyctl.instance.tls import verified
from proxyctl.proxysql.topology import Node

if TYPE_CHECKING:
    from pymysql.connections import Connection

_TIMEOUT_S = 3.0

_NO_MONITOR_USER = "no account to log in with: mysql-monitor_username is empty"


@dataclass(frozen=True)
class Account:
    """A login at the servers."""

    user: str
    """The name of the account; empty if there is none."""
    password: str
    """Its password, which never appears in a repr."""
    trust: Trust = NO_TRUST
    """What allows the password itself to leave."""

    def __repr__(self) -> str:
        return f"Account({self.user})"


def monitor_account(client: AdminClient, trust: Trust) -> Account:
    """Return the account of ProxySQL's monitor; it may be empty. Raises: InstanceError."""
    names = ("mysql-monitor_username", "mysql-monitor_password")
    values = read_variables(client, *names)
    user, password = (values.get(name, "") for name in names)
    return Account(user, password, trust)


class BackendError(InstanceError):
    """The server is unreachable, refuses the login, or answers with an error."""


class BackendConnection:
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

    def query(self, sql: str, *, columns: int) -> list[tuple[str | None, ...]]:
        """Return the rows of a fixed statement, as text.

        Bytes that are not UTF-8 are surrogate escapes. Raises: BackendError, also if the rows do
        not have this number of columns.
        """
        import pymysql

        connection: Any = self._connection
        try:
            connection._sock.begin(_TIMEOUT_S, limit=ANSWER_LIMIT)
            with connection.cursor() as cursor:
                cursor.execute(sql)
                rows = list(cursor.fetchall())
        except (pymysql.err.MySQLError, OSError, *NOT_UNDERSTOOD) as error:
            raise BackendError(f"{self.name}: {_reason(error)}", then=[f"  in: {sql}"]) from error
        if any(len(row) != columns for row in rows):
            raise self.strange(sql)
        return [tuple(None if cell is None else decoded(cell) for cell in row) for row in rows]

    def strange(self, sql: str) -> BackendError:
        """Return the error for an answer that no server gives to a statement."""
        message = f"{self.name}: the answer is not that of a MySQL server"
        return BackendError(message, then=[f"  in: {sql}"])


@contextmanager
def backend(node: Node, account: Account) -> Iterator[BackendConnection]:
    """Connect to a server until the context ends.

    Raises: BackendError, whose text does not name the server.
    """
    host, port = node
    if not account.user:  # PyMySQL would log in as the user of this machine
        raise BackendError(_NO_MONITOR_USER)
    if not port:
        raise BackendError("a Unix socket of the machine that ProxySQL runs on")
    with closing(_open(str(host), int(str(port)), account)) as connection:
        yield BackendConnection(node, connection)


def _open(host: str, port: int, account: Account) -> Connection[Any]:
    import pymysql
    from pymysql.converters import encoders

    trust = account.trust
    tls = verified(trust.ca) if trust.ca else None
    # Any: PyMySQL's types lack what `protected_connection` takes. With `encoders` as its
    # converters, it reads every column as text, whatever its type.
    connection_class: Any = protected_connection()
    connection: Connection[Any] = connection_class(
        trust=trust,
        needs_tls=tls is not None,
        host=host,
        user=account.user.encode("utf-8", "surrogateescape"),
        # PyMySQL would encode text as latin1.
        password=account.password.encode("utf-8", "surrogateescape"),
        use_unicode=False,
        conv=encoders,
        autocommit=True,
        ssl=tls,
        ssl_disabled=tls is None and trust.public_key is not None,
    )
    try:
        connection.connect(connected(host, port, None, _TIMEOUT_S))
    except PasswordAskedError as error:
        raise BackendError(str(error), fix=_WAYS) from error
    except (pymysql.err.MySQLError, OSError, *NOT_UNDERSTOOD) as error:
        raise BackendError(_reason(error)) from error
    return connection


_WAYS = (
    "verify the server with --backend-ca, or give its key with --backend-public-key, or log in"
    " once as this account with another client, so that the server remembers it;"
    " --backend-unverified sends the password to whoever answers"
)


def _reason(error: Exception) -> str:
    """Return the error as one line that is not empty."""
    if reason := unreachable_reason(error, _TIMEOUT_S):
        return reason
    if isinstance(error, NOT_UNDERSTOOD) and not isinstance(error, UnicodeError):
        return "it does not speak the MySQL protocol"
    if isinstance(error.__context__, AnswerTooLargeError):
        return str(error.__context__)
    _, text = code_and_text(error)
    return next((line for line in text.splitlines() if line.strip()), type(error).__name__)


_MAX_THREADS = 100
"""A silent server occupies a thread, and must not delay the other servers."""

_CERTIFICATE_END = "ssl_server_not_after"
"""Empty on a connection without TLS."""

_STATUS = (
    _CERTIFICATE_END,
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
            status = _by_name(connection.query(_show("STATUS", _STATUS), columns=2))
            variables = _by_name(connection.query(_show("VARIABLES", _VARIABLES), columns=2))
            offers_tls = connection.offers_tls
    except InstanceError as error:
        reason = error.message.removeprefix(f"{node[0]}:{node[1]}: ")
        return NodeAnswer(unreachable=reason, fix=error.fix)
    return NodeAnswer(
        version=variables.get("version", ""),
        offers_tls=offers_tls,
        certificate_end=_unix_seconds(status.get(_CERTIFICATE_END, "")),
        status=status,
        variables=variables,
    )


def _unix_seconds(text: str) -> int | None:
    """Return a time that OpenSSL writes, such as `Dec  9 04:58:19 2026 GMT`; None for others."""
    try:
        return ssl.cert_time_to_seconds(text)
    except ValueError:
        return None


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
    """The direct answer of a node, or the error and its fix."""

    unreachable: str | None = None
    """The error; None if the node answered."""
    fix: str | None = None
    """The fix of the error, if one is known."""
    version: str = ""
    """The version of the server."""
    offers_tls: bool | None = None
    """Whether the server offers TLS; None: unknown."""
    certificate_end: int | None = None
    """When its certificate expires; None: unknown. Units: unix seconds."""
    status: Mapping[str, str] = field(default_factory=dict)
    """The status variables wsrep_* and a few more, by lower-case name."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The variables wsrep_* and a few more, by lower-case name."""
