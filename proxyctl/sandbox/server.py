"""The listening socket and its clients, inside one event loop."""

from __future__ import annotations

import asyncio
import itertools
import logging
from contextlib import suppress

from proxyctl.sandbox.client import Client
from proxyctl.sandbox.engine import Engine
from proxyctl.sandbox.options import Options
from proxyctl.sandbox.packets import MalformedPacketError
from proxyctl.sandbox.wire import Wire

_ROUNDS = 5
_LOGGER = logging.getLogger(__name__)
_ENDS = (asyncio.IncompleteReadError, MalformedPacketError, OSError)
"""How a client may leave."""


class Server:
    """Serves every client from a task of its own."""

    def __init__(self, engine: Engine, options: Options) -> None:
        self._engine = engine
        self._options = options
        self._server: asyncio.Server | None = None
        self._clients: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._numbers = itertools.count(1)

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port.

        A name may stand for several addresses. All get the same port, also one that was free.
        """
        self._server = await asyncio.start_server(self._accept, host, port)
        found: int = self._server.sockets[0].getsockname()[1]
        if any(one.getsockname()[1] != found for one in self._server.sockets):
            self._server.close()
            self._server = await asyncio.start_server(self._accept, host, found)
        return found

    async def stop(self) -> None:
        """Stop listening and cut off every client, as a killed process would."""
        if self._server is None:
            return
        # A client that was accepted a moment ago is ours a few rounds of the loop later, and never
        # if listening has ended by then.
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        self._server.close()
        for task, writer in self._clients.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        await self._server.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._clients[task] = writer
        task.add_done_callback(self._clients.pop)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The address of a client that is gone already is None.
        host = str((writer.get_extra_info("peername") or ("",))[0])
        number = next(self._numbers)
        client = Client(Wire(reader, writer), self._engine, self._options, host=host, number=number)
        try:
            with suppress(*_ENDS):
                await client.serve()
        except Exception:
            # Whatever one client sends, it is no matter of the others.
            _LOGGER.debug("the connection of %s ended", host, exc_info=True)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
