"""The listening socket, and its clients in threads of their own: login and commands of each."""

from __future__ import annotations

import errno
import itertools
import logging
import secrets
import socket
import string
import threading
from contextlib import suppress

from proxyctl.errors import ProxyctlError, os_reason
from proxyctl.sandbox import protocol
from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.logins import Proof, Session
from proxyctl.sandbox.protocol import LARGEST_TEXT, NATIVE, Commands, Wire
from proxyctl.sandbox.replies import (
    AdminError,
    CutConnectionError,
    Options,
    address_text,
    not_modelled,
    refusal,
)

_LOGGER = logging.getLogger(__name__)


class Server:
    """Listens at one address from its making on, until it is stopped.

    Raises: ProxyctlError when the address is taken, or is none of this machine.
    """

    def __init__(self, engine: Engine, options: Options, host: str, port: int) -> None:
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
        # The first wakes up the thread on Linux, the second elsewhere.
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
            except OSError:
                return
            thread = threading.Thread(
                target=self._serve, args=(connection, str(address[0]), number), daemon=True
            )
            self._clients[thread] = connection
            thread.start()

    def _serve(self, connection: socket.socket, host: str, number: int) -> None:
        wire = Wire(connection)
        try:
            Client(wire, self._engine, self._options, host=host, number=number).serve()
        except Exception:
            # However one client leaves, it is no matter of the others.
            _LOGGER.debug("the connection of %s ended", host, exc_info=True)
        finally:
            wire.close()
            del self._clients[threading.current_thread()]


def _listen(host: str, port: int) -> socket.socket:
    fix = "--host takes an address of this machine, such as 127.0.0.1; --port one that is free"
    try:
        if not host.strip():
            # It would mean every address of this machine.
            raise OSError(errno.EINVAL, "the address is empty")
        family, *_, found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(found[:2], family=family)
    except (OSError, UnicodeError, OverflowError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        reason = reason.partition(" (while")[0]  # Python says the address once more
        text = f"cannot listen on {address_text(host, port)}: {reason}"
        raise ProxyctlError(text, fix=fix) from error


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
        """Serve the client until it leaves. Raises: EOFError where it just goes, and the like."""
        try:
            session = self._log_in()
        except AdminError as error:
            self._wire.write(protocol.error(error))
            return
        self._wire.write(protocol.ok())
        while packet := self._wire.read_command():
            if not self._obey(packet[0], packet[1:], session):
                return

    def _log_in(self) -> Session:
        """Return the session. Raises: AdminError for a client that may not come in."""
        nonce = "".join(secrets.choice(_ALPHABET) for _ in range(_NONCE_LENGTH)).encode()
        version = self._engine.variable("mysql-server_version")
        self._wire.write(protocol.greeting(version, self._number, nonce))
        login = protocol.parse_login(self._wire.read())
        response = login.auth_response
        if login.client_plugin not in (None, NATIVE):
            self._wire.write(protocol.switch(nonce))
            response = self._wire.read()
        proof, is_remote = Proof(nonce, response), self._options.clients_are_remote
        return self._engine.log_in(login.username, self._host, proof, is_remote=is_remote)

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
            if len(text) >= LARGEST_TEXT:
                raise refusal("refuses statements above 16 MB: ProxySQL's answer is out of step")
            sql = text.decode("utf-8", "surrogateescape")
            self._options.before_statement(sql)
            result = self._engine.execute(sql, session)
            self._options.after_statement(sql)
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
