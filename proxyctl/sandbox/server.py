"""The listening socket, and a thread for the login and the commands of each client."""

from __future__ import annotations

import errno
import itertools
import logging
import secrets
import socket
import string
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from proxyctl.errors import ProxyctlError, bug_text
from proxyctl.sandbox import protocol
from proxyctl.sandbox.engine import AdminEngine
from proxyctl.sandbox.logins import ClientSession, Proof
from proxyctl.sandbox.protocol import LARGEST_TEXT, NATIVE, Commands, Wire
from proxyctl.sandbox.replies import (
    AdminError,
    Answer,
    CutConnectionError,
    Options,
    address_text,
    not_modelled,
    refusal,
)
from proxyctl.text import os_reason

_LOGGER = logging.getLogger(__name__)


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


LOGIN_S, LOGIN_LIMIT = 10.0, 1 << 16
"""The most seconds without a byte, and the most bytes of a packet, before a client is let in."""


_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S = 0.1
"""After an accept for which the process or the machine has no room."""


class AdminServer:
    """Listens at one address from its creation until `stop`.

    Raises: ProxyctlError when the address is taken or not of this machine.
    """

    def __init__(self, engine: AdminEngine, options: Options, host: str, port: int) -> None:
        self._engine = engine
        self._options = options
        self._listening = _listen(host, port)
        self.port: int = self._listening.getsockname()[1]
        self._clients: dict[threading.Thread, socket.socket] = {}
        self._accepting = threading.Thread(
            target=self._accept, name="proxyctl-sandbox", daemon=True
        )
        self._accepting.start()

    def stop(self) -> None:
        """Stop listening and cut off every client, as a killed process would."""
        # Shutdown wakes the accepting thread on Linux, close does so elsewhere.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._accepting.join()
        clients = dict(self._clients)
        for connection in clients.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in clients:
            thread.join()

    def _accept(self) -> None:
        for number in itertools.count(1):
            try:
                connection, address = self._listening.accept()
            except OSError as error:
                if error.errno not in _FULL:
                    return
                time.sleep(_PAUSE_S)  # until a client leaves
                continue
            thread = threading.Thread(
                target=self._serve, args=(connection, str(address[0]), number), daemon=True
            )
            self._clients[thread] = connection
            thread.start()

    def _serve(self, connection: socket.socket, host: str, number: int) -> None:
        wire = Wire(connection)
        try:
            self._talk(wire, connection, host, number)
        except Exception as error:
            # The end of one client must not affect the others.
            _LOGGER.debug("the connection of %s ended: %s", host, bug_text(error))
        finally:
            wire.close()
            del self._clients[threading.current_thread()]

    def _talk(self, wire: Wire, connection: socket.socket, host: str, number: int) -> None:
        """Serve a client until it leaves. Raises: EOFError or OSError if it just disconnects."""
        try:
            connection.settimeout(LOGIN_S)
            session = self._log_in(wire, host, number)
            connection.settimeout(None)
        except AdminError as error:
            wire.write(protocol.error(error))
            return
        wire.write(protocol.ok())
        while packet := wire.read_command():
            answer: Iterable[bytes]
            try:
                answer = self._answer(packet[0], packet[1:], session)
            except AdminError as error:
                answer = [protocol.error(error)]
            wire.write(*answer)

    def _log_in(self, wire: Wire, host: str, number: int) -> ClientSession:
        """Log a client in and return its session. Raises: AdminError for a refused login."""
        nonce = "".join(secrets.choice(_ALPHABET) for _ in range(_NONCE_LENGTH)).encode()
        wire.write(protocol.greeting(self._engine.variable("mysql-server_version"), number, nonce))
        login = protocol.parse_login(wire.read(limit=LOGIN_LIMIT))
        response = login.auth_response
        if login.client_plugin not in (None, NATIVE):
            wire.write(protocol.switch(nonce))
            response = wire.read(limit=LOGIN_LIMIT)
        proof, is_remote = Proof(nonce, response), self._options.clients_are_remote
        return self._engine.log_in(login.username, host, proof, is_remote=is_remote)

    def _answer(self, command: int, text: bytes, session: ClientSession) -> Iterable[bytes]:
        """Return the packets that answer a command.

        Raises: AdminError; CutConnectionError for a command that ends the connection.
        """
        if command == Commands.COM_QUERY:
            return protocol.answer(self._run(text, session))
        if command in _OK:
            return [protocol.ok()]
        if command == Commands.COM_FIELD_LIST:
            # The mysql client asks for completion words, and works without them.
            raise AdminError("Command not supported")
        if command == Commands.COM_STATISTICS:
            seconds = self._engine.statistics.uptime_s
            return [f"Uptime: {seconds} Threads: 0  Questions: 0  Slow queries: 0".encode()]
        if command in _NOT_MODELLED:
            raise not_modelled(Commands(command).name)
        raise CutConnectionError

    def _run(self, text: bytes, session: ClientSession) -> Answer:
        if len(text) >= LARGEST_TEXT:
            raise refusal(
                "refuses statements above 16 MB: ProxySQL's replies to them are out of sequence"
            )
        sql = text.decode("utf-8", "surrogateescape")
        try:
            self._options.before_statement(sql)
            result = self._engine.execute(sql, session)
            self._options.after_statement(sql)
        except (AdminError, CutConnectionError):
            raise
        except Exception as error:
            # A bug of ours must not leave the client without an answer.
            bug = f"failed, which is a bug in proxyctl: {type(error).__name__}: {error}"
            raise refusal(bug) from error
        return result


def _listen(host: str, port: int) -> socket.socket:
    fix = "choose an address of this machine with --host, or a free port with --port"
    try:
        if not host.strip():
            # An empty host would mean every address of this machine.
            raise OSError(errno.EINVAL, "the address is empty")
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError, OverflowError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        reason = reason.partition(" (while")[0]  # Python repeats the address
        text = f"cannot listen on {address_text(host, port)}: {reason}"
        raise ProxyctlError(text, fix=fix) from error
