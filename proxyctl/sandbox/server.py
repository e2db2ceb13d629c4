"""The listening socket and its clients, each in a thread of its own."""

from __future__ import annotations

import errno
import itertools
import logging
import socket
import threading
from contextlib import suppress

from proxyctl.errors import ProxyctlError, os_reason
from proxyctl.sandbox.client import Client
from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.protocol import MalformedPacketError, Wire
from proxyctl.sandbox.replies import CutConnectionError, Options, address_text

_LOGGER = logging.getLogger(__name__)
_ENDS = (EOFError, MalformedPacketError, OSError, CutConnectionError)
"""How a client may leave."""


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
        except _ENDS:
            pass
        except Exception:
            # Whatever one client sends, it is no matter of the others.
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
        text = f"cannot listen on {address_text(host, port)}: {reason}"
        raise ProxyctlError(text, fix=fix) from error
