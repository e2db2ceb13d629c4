"""One client's connection: greeting, login, commands, as ProxySQL's admin port answers them."""

from __future__ import annotations

import secrets
import string

from proxyctl.sandbox import packets
from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.logins import Proof, Role, Session
from proxyctl.sandbox.options import Options
from proxyctl.sandbox.packets import CLEAR, NATIVE, SHA2, Commands
from proxyctl.sandbox.replies import AdminError, CutConnectionError, Result, not_modelled, refusal
from proxyctl.sandbox.wire import LARGEST_TEXT, Wire

_NONCE_LENGTH = 20
_ALPHABET = string.ascii_letters + string.digits

_OK = frozenset({Commands.COM_INIT_DB, Commands.COM_PING, Commands.COM_STMT_RESET})
_UNANSWERED = frozenset({Commands.COM_STMT_SEND_LONG_DATA, Commands.COM_STMT_CLOSE})
_NOT_SUPPORTED = {
    Commands.COM_FIELD_LIST: 1045,
    Commands.COM_STMT_PREPARE: 1045,
    Commands.COM_STMT_EXECUTE: 1045,
    Commands.COM_PROCESS_KILL: 9003,
}


class Client:
    """One connection, from the greeting to the last command. `number` tells it from others."""

    def __init__(
        self,
        wire: Wire,
        engine: Engine,
        options: Options,
        *,
        host: str,
        number: int,
    ) -> None:
        self._wire = wire
        self._engine = engine
        self._options = options
        self._host = host
        self._number = number

    async def serve(self) -> None:
        """Serve the client until it leaves.

        Raises: MalformedPacketError, asyncio.IncompleteReadError or OSError where it does not leave
        as it should.
        """
        session = await self._log_in()
        if session is None:
            return
        while packet := await self._wire.read_command():
            if not await self._obey(packet[0], packet[1:], session):
                return

    # --- the login ------------------------------------------------------------------------------

    async def _log_in(self) -> Session | None:
        """Return the session, or None after the client was told why it may not come in."""
        plugin = self._engine.variable("mysql-default_authentication_plugin")
        plugin = SHA2 if plugin == SHA2 else NATIVE
        nonce = "".join(secrets.choice(_ALPHABET) for _ in range(_NONCE_LENGTH)).encode()
        version = self._engine.variable("mysql-server_version")
        await self._wire.write(packets.greeting(version, self._number, nonce, plugin))
        login = packets.parse_login(await self._wire.read())
        response = login.response
        # Clear text is taken as it comes; every other plugin has to be the one announced.
        if login.plugin not in (plugin, CLEAR):
            plugin = NATIVE
            await self._wire.write(packets.switch(plugin, nonce))
            response = await self._wire.read()
        proof = Proof(CLEAR if login.plugin == CLEAR else plugin, nonce, response)
        try:
            session = self._engine.log_in(
                login.user, self._host, proof, is_remote=self._options.clients_are_remote
            )
        except AdminError as error:
            await self._wire.write(packets.error(error))
            return None
        if proof.plugin == SHA2 and proof.is_given:
            await self._wire.put(packets.FAST_LOGIN)
        await self._wire.write(packets.ok())
        return session

    # --- commands -------------------------------------------------------------------------------

    async def _obey(self, command: int, text: bytes, session: Session) -> bool:
        """Carry out one command and return whether the connection goes on."""
        if command == Commands.COM_QUERY:
            return await self._query(text, session)
        if command in _OK:
            await self._wire.write(packets.ok())
        elif command in _NOT_SUPPORTED:
            code = _NOT_SUPPORTED[Commands(command)]
            await self._wire.write(packets.error(AdminError("Command not supported", code=code)))
        elif command == Commands.COM_STATISTICS:
            seconds = self._engine.statistics.uptime_s
            uptime = f"Uptime: {seconds} Threads: 0  Questions: 0  Slow queries: 0"
            await self._wire.write(uptime.encode())
        elif command == Commands.COM_SET_OPTION:
            await self._wire.write(packets.EOF)
        elif command == Commands.COM_RESET_CONNECTION:
            self._wire.skip_number()
            await self._wire.write(packets.error(_no_reset(session.role)))
        elif command == Commands.COM_CHANGE_USER:
            await self._wire.write(
                packets.error(not_modelled("COM_CHANGE_USER, to which ProxySQL gives no answer"))
            )
        else:
            return command in _UNANSWERED
        return True

    async def _query(self, text: bytes, session: Session) -> bool:
        try:
            result = self._run(text, session)
        except AdminError as error:
            await self._wire.write(packets.error(error))
            return True
        except CutConnectionError:
            self._wire.cut()
            return False
        except Exception as error:
            # A bug of ours must not end the sandbox, nor leave the client without an answer.
            bug = refusal(f"failed, which is a bug in proxyctl: {type(error).__name__}: {error}")
            await self._wire.write(packets.error(bug))
            return True
        await self._answer(result)
        return True

    def _run(self, text: bytes, session: Session) -> Result:
        if len(text) >= LARGEST_TEXT:
            raise refusal("refuses statements above 16 MB: ProxySQL's answer is out of step")
        sql = text.decode("utf-8", "surrogateescape")
        if self._options.before_statement is not None:
            self._options.before_statement(sql)
        result = self._engine.execute(sql, session)
        if self._options.after_statement is not None:
            self._options.after_statement(sql)
        return result

    async def _answer(self, result: Result) -> None:
        wire = self._wire
        if not result.columns:
            await wire.write(packets.ok(result.affected, result.info))
            return
        await wire.put(packets.column_count(len(result.columns)))
        for name in result.columns:
            await wire.put(packets.column(name))
        await wire.put(packets.EOF)
        for row in result.rows:
            await wire.put(packets.row(row))
        await wire.write(packets.EOF)


def _no_reset(role: Role) -> AdminError:
    kind = f"PROXYSQL_SESSION_{role.name}"
    return AdminError(
        f"Received unsupported 'COM_RESET_CONNECTION' for session type '{kind}'", code=1047
    )
