"""One client's connection: greeting, login, commands, as ProxySQL's admin port answers them."""

from __future__ import annotations

import secrets
import string

from proxyctl.sandbox import protocol
from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.logins import Proof, Session
from proxyctl.sandbox.protocol import LARGEST_TEXT, NATIVE, Commands, Wire
from proxyctl.sandbox.replies import (
    AdminError,
    CutConnectionError,
    Options,
    Result,
    not_modelled,
    refusal,
)

_NONCE_LENGTH = 20
_ALPHABET = string.ascii_letters + string.digits

_OK = frozenset({Commands.COM_INIT_DB, Commands.COM_PING})
_NOT_MODELLED = frozenset(
    {
        Commands.COM_PROCESS_KILL,
        Commands.COM_CHANGE_USER,
        Commands.COM_STMT_PREPARE,
        Commands.COM_STMT_EXECUTE,
        Commands.COM_STMT_RESET,
        Commands.COM_SET_OPTION,
        Commands.COM_RESET_CONNECTION,
    }
)
"""After any other command ProxySQL ends the connection."""


class Client:
    """One connection, from the greeting to the last command. `number` tells it from others."""

    def __init__(
        self, wire: Wire, engine: Engine, options: Options, *, host: str, number: int
    ) -> None:
        self._wire = wire
        self._engine = engine
        self._options = options
        self._host = host
        self._number = number

    def serve(self) -> None:
        """Serve the client until it leaves.

        Raises: MalformedPacketError, EOFError, OSError or CutConnectionError where it does not
        leave as it should.
        """
        session = self._log_in()
        if session is None:
            return
        while packet := self._wire.read_command():
            if not self._obey(packet[0], packet[1:], session):
                return

    def _log_in(self) -> Session | None:
        """Return the session, or None after the client was told why it may not come in."""
        nonce = "".join(secrets.choice(_ALPHABET) for _ in range(_NONCE_LENGTH)).encode()
        version = self._engine.variable("mysql-server_version")
        self._wire.write(protocol.greeting(version, self._number, nonce))
        login = protocol.parse_login(self._wire.read())
        response = login.response
        if login.plugin != NATIVE:
            self._wire.write(protocol.switch(nonce))
            response = self._wire.read()
        try:
            session = self._engine.log_in(
                login.user,
                self._host,
                Proof(nonce, response),
                is_remote=self._options.clients_are_remote,
            )
        except AdminError as error:
            self._wire.write(protocol.error(error))
            return None
        self._wire.write(protocol.ok())
        return session

    def _obey(self, command: int, text: bytes, session: Session) -> bool:
        """Carry out one command and return whether the connection goes on."""
        if command == Commands.COM_QUERY:
            self._query(text, session)
        elif command in _OK:
            self._wire.write(protocol.ok())
        elif command == Commands.COM_FIELD_LIST:
            # With it the mysql client asks for words to complete, and does without.
            self._wire.write(protocol.error(AdminError("Command not supported")))
        elif command == Commands.COM_STATISTICS:
            seconds = self._engine.statistics.uptime_s
            uptime = f"Uptime: {seconds} Threads: 0  Questions: 0  Slow queries: 0"
            self._wire.write(uptime.encode())
        elif command in _NOT_MODELLED:
            self._wire.write(protocol.error(not_modelled(Commands(command).name)))
        else:
            return False
        return True

    def _query(self, text: bytes, session: Session) -> None:
        try:
            result = self._run(text, session)
        except AdminError as error:
            self._wire.write(protocol.error(error))
        except CutConnectionError:
            raise
        except Exception as error:
            # A bug of ours must not leave the client without an answer.
            bug = refusal(f"failed, which is a bug in proxyctl: {type(error).__name__}: {error}")
            self._wire.write(protocol.error(bug))
        else:
            self._wire.write_result(result)

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
