"""The MySQL protocol in front of the engine. The only file that imports mysql_mimic.

mysql_mimic brings the handshake, the framing and the command loop. Its result and error packets are
replaced: ProxySQL sends every column as text, an info text with OK, and bytes as they were stored.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Sequence
from contextlib import suppress

from mysql_mimic import packets
from mysql_mimic.auth import AuthInfo, AuthPlugin, AuthState, IdentityProvider
from mysql_mimic.charset import CharacterSet
from mysql_mimic.connection import Connection
from mysql_mimic.control import LocalControl
from mysql_mimic.errors import MysqlError
from mysql_mimic.session import BaseSession
from mysql_mimic.stream import ConnectionClosed, MysqlStream
from mysql_mimic.types import (
    Capabilities,
    ColumnDefinition,
    ColumnType,
    ServerStatus,
    str_len,
    uint_2,
    uint_len,
)
from mysql_mimic.utils import nonce
from mysql_mimic.variables import GlobalVariables, SessionVariables

from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.logins import Proof, Session
from proxyctl.sandbox.options import Options
from proxyctl.sandbox.replies import AdminError, Cell, CutConnectionError, Result, refusal

_LOGGER = logging.getLogger(__name__)
# Without a handler of its own the library's remarks on clients would go to the terminal.
logging.getLogger("mysql_mimic").addHandler(logging.NullHandler())

_CAPABILITIES = (
    Capabilities.CLIENT_LONG_PASSWORD
    | Capabilities.CLIENT_FOUND_ROWS
    | Capabilities.CLIENT_LONG_FLAG
    | Capabilities.CLIENT_CONNECT_WITH_DB
    | Capabilities.CLIENT_PROTOCOL_41
    | Capabilities.CLIENT_TRANSACTIONS
    | Capabilities.CLIENT_SECURE_CONNECTION
    | Capabilities.CLIENT_PLUGIN_AUTH
)
_NATIVE, _SHA2 = "mysql_native_password", "caching_sha2_password"
_FAST_AUTH_SUCCESS = b"\x03"
_NONCE_LENGTH = 20
_LARGEST_STATEMENT = 0xFFFFFF - 1


class _LoginRefusedError(Exception):
    """The client was told why; the connection ends."""


class _Reader(asyncio.StreamReader):
    """A reader whose `read` gives all the bytes asked for, or none at the end of the stream.

    The framing asks for four bytes of header and cannot cope with fewer.
    """

    async def read(self, n: int = -1) -> bytes:
        try:
            return await self.readexactly(n)
        except asyncio.IncompleteReadError:
            return b""


class _Announced(AuthPlugin):  # type: ignore[misc]
    """The plugin that the handshake announces; the check itself stands in `logins`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.client_plugin_name = name

    async def auth(self, auth_info: AuthInfo | None = None) -> AuthState:  # noqa: ARG002
        yield nonce(_NONCE_LENGTH) + b"\0"


class _Announcement(IdentityProvider):  # type: ignore[misc]
    def __init__(self, engine: Engine) -> None:
        name = engine.variable("mysql-default_authentication_plugin")
        self._plugin = _Announced(_SHA2 if name == _SHA2 else _NATIVE)

    def get_plugins(self) -> Sequence[AuthPlugin]:
        return [self._plugin]


class _Variables(BaseSession):  # type: ignore[misc]
    """What the handshake needs to know; statements do not come through here."""

    def __init__(self, version: str) -> None:
        self.variables = SessionVariables(GlobalVariables())
        self.variables.set("version", version, force=True)
        self.username = None
        self.database = None


class _Client(Connection):  # type: ignore[misc]
    """One connection, from handshake to the last command."""

    def __init__(
        self,
        stream: MysqlStream,
        engine: Engine,
        host: str,
        options: Options,
        tls: ssl.SSLContext | None,
    ) -> None:
        super().__init__(
            stream=stream,
            session=_Variables(engine.variable("mysql-server_version")),
            control=LocalControl(),
            identity_provider=_Announcement(engine),
            server_capabilities=_CAPABILITIES,
            ssl=tls,
        )
        self.status_flags = (
            ServerStatus.SERVER_STATUS_AUTOCOMMIT | ServerStatus.SERVER_STATUS_NO_BACKSLASH_ESCAPES
        )
        self._engine = engine
        self._host = host
        self._options = options
        self._admin_session: Session | None = None

    async def start(self) -> None:
        """Serve the client until it leaves."""
        with suppress(
            _LoginRefusedError,
            ConnectionClosed,
            ConnectionError,
            asyncio.IncompleteReadError,
            MysqlError,
        ):
            await self.connection_phase()
            await self.command_phase()

    async def authenticate(
        self,
        username: str,
        auth_response: bytes,
        client_plugin_name: str | None,
        connect_attrs: dict[str, str],  # noqa: ARG002
        auth_state: AuthState | None = None,
        server_plugin: AuthPlugin | None = None,  # noqa: ARG002
    ) -> None:
        """Let the client in, or tell it as ProxySQL does why not, and end."""
        if auth_state is not None:
            await auth_state.aclose()
        challenge = (self.handshake_auth_data or b"")[:_NONCE_LENGTH]
        plugin = client_plugin_name or _NATIVE
        if plugin not in (_NATIVE, _SHA2):
            plugin = _NATIVE
            await self.stream.write(
                packets.make_auth_switch_request(
                    server_charset=CharacterSet.utf8,
                    plugin_name=plugin,
                    plugin_provided_data=challenge + b"\0",
                )
            )
            auth_response = await self.stream.read()
        proof = Proof(plugin, challenge, auth_response.rstrip(b"\0") and auth_response)
        try:
            session = self._engine.log_in(
                username, self._host, proof, is_remote=self._options.clients_are_remote
            )
        except AdminError as error:
            await self.stream.write(_error_packet(error))
            raise _LoginRefusedError from error
        self._admin_session = session
        if plugin == _SHA2 and auth_response:
            await self.stream.write(packets.make_auth_more_data(_FAST_AUTH_SUCCESS))
        await self.stream.write(self.ok())

    async def handle_query(self, data: bytes) -> None:
        """Run one statement and send its answer."""
        try:
            if len(data) > _LARGEST_STATEMENT:
                raise refusal("refuses statements above 16 MB: ProxySQL's answer is out of step")
            if self._admin_session is None:
                raise AdminError("ProxySQL Error: Access denied")
            sql = data.decode("utf-8", "surrogateescape")
            if self._options.before_statement is not None:
                self._options.before_statement(sql)
            result = self._engine.execute(sql, self._admin_session)
            if self._options.after_statement is not None:
                self._options.after_statement(sql)
        except AdminError as error:
            await self.stream.write(_error_packet(error))
            return
        except CutConnectionError:
            self.stream.writer.transport.abort()
            return
        except Exception as error:
            # A bug of ours must not end the sandbox, nor leave the client without an answer.
            bug = refusal(f"failed, which is a bug in proxyctl: {type(error).__name__}: {error}")
            await self.stream.write(_error_packet(bug))
            return
        if result.columns:
            await self._write_rows(result)
        else:
            await self.stream.write(self._ok_packet(result))

    async def handle_init_db(self, data: bytes) -> None:  # noqa: ARG002
        """Accept any schema, as ProxySQL does; it changes nothing."""
        await self.stream.write(self.ok())

    async def handle_stmt_prepare(self, data: bytes) -> None:  # noqa: ARG002
        """Refuse prepared statements."""
        await self._refuse_command()

    async def handle_stmt_execute(self, data: bytes) -> None:  # noqa: ARG002
        """Refuse prepared statements."""
        await self._refuse_command()

    async def handle_field_list(self, data: bytes) -> None:  # noqa: ARG002
        """Refuse to list fields."""
        await self._refuse_command()

    async def handle_change_user(self, data: bytes) -> None:  # noqa: ARG002
        """Refuse another login on the same connection."""
        await self._refuse_command()

    async def _refuse_command(self) -> None:
        await self.stream.write(_error_packet(AdminError("Command not supported")))

    def _ok_packet(self, result: Result) -> bytes:
        info = result.info.encode("utf-8", "surrogateescape")
        status = uint_2(self.status_flags) + uint_2(0)
        head: bytes = b"\0" + uint_len(result.affected) + uint_len(0) + status
        return head + (str_len(info) if info else b"")

    async def _write_rows(self, result: Result) -> None:
        write = self.stream.write
        await write(uint_len(len(result.columns)), drain=False)
        for name in result.columns:
            await write(_column_packet(name), drain=False)
        await write(self.eof(), drain=False)
        for row in result.rows:
            # One packet a row; above 16 MB the stream splits it.
            await write(b"".join(map(_field, row)), drain=False)
        await write(self.eof())


def _column_packet(name: str) -> bytes:
    shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    packet: bytes = packets.make_column_definition_41(
        server_charset=CharacterSet.utf8,
        name=shown,
        character_set=CharacterSet.utf8,
        column_length=15,
        column_type=ColumnType.VAR_STRING,
        flags=ColumnDefinition.NOT_NULL_FLAG,
        decimals=31,
    )
    return packet


def _error_packet(error: AdminError) -> bytes:
    message = error.message.encode("utf-8", "surrogateescape")
    return b"\xff" + error.code.to_bytes(2, "little") + b"#" + error.sqlstate.encode() + message


def _field(cell: Cell) -> bytes:
    match cell:
        case None:
            return b"\xfb"
        case str():
            text = cell.encode("utf-8", "surrogateescape")
        case bytes():
            text = cell
        case float():
            text = real_text(cell).encode()
        case _:
            text = b"%d" % cell
    length = len(text)
    return (bytes((length,)) if length < 251 else uint_len(length)) + text


def real_text(number: float) -> str:
    """Return a number as SQLite writes it: 15 digits and always a decimal point."""
    text = format(number, ".15g")
    if "inf" in text:
        return text.replace("inf", "Inf")
    mantissa, exponent, power = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}{exponent}{power}"


class Server:
    """The listening socket and its clients, inside one event loop."""

    def __init__(self, engine: Engine, options: Options, tls: ssl.SSLContext | None) -> None:
        self._engine = engine
        self._options = options
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: asyncio.StreamReaderProtocol(_Reader(loop=loop), self._serve, loop=loop),
            host,
            port,
        )
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    async def stop(self) -> None:
        """Stop listening and cut off every client, as a killed process would."""
        if self._server is None:
            return
        self._server.close()
        for task, writer in self._clients.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._clients[task] = writer
        # The address of a client that is gone already is None.
        host = str((writer.get_extra_info("peername") or ("",))[0])
        try:
            stream = MysqlStream(reader, writer)
            await _Client(stream, self._engine, host, self._options, self._tls).start()
        except asyncio.CancelledError:
            # Only `stop` cancels. Ending quietly keeps asyncio from reporting it as a fault.
            return
        except Exception as error:
            # Whatever one client sends, a port scan for instance, is no matter of the others.
            _LOGGER.debug("the connection of %s ended: %r", host, error)
        finally:
            if task is not None:
                self._clients.pop(task, None)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
