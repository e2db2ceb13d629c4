"""Serves the metrics of a watch, and whether it is alive and ready, over HTTP.

Needs the package prometheus_client, as `metrics` does.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from proxyctl.errors import ProxyctlError
from proxyctl.text import os_reason

REQUEST_TIMEOUT_S = 10
"""The longest that a client may take for its request. Units: seconds."""

_TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class ServedWatch:
    """What a watch answers over HTTP."""

    registry: CollectorRegistry
    """The metrics, for `/metrics`."""
    is_alive: Callable[[], bool]
    """Whether the loop goes on, for `/healthz`."""
    is_ready: Callable[[], bool]
    """Whether a round has ended, for `/readyz`."""

    def answer(self, path: str, accept: str) -> tuple[HTTPStatus, str, bytes]:
        """Return status, content type and body. `accept`: the header that asks for a format."""
        if path == "/metrics":
            encode, kind = choose_encoder(accept)
            return HTTPStatus.OK, kind, encode(self.registry)
        asked = {"/healthz": self.is_alive, "/readyz": self.is_ready}.get(path)
        if asked is None:
            return HTTPStatus.NOT_FOUND, _TEXT, b"see /metrics, /healthz, /readyz\n"
        if asked():
            return HTTPStatus.OK, _TEXT, b"ok\n"
        return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"not yet, or not any more\n"


@contextmanager
def served(host: str, port: int, watch: ServedWatch) -> Iterator[int]:
    """Serve while the block runs; yield the port, a free one for port 0.

    Raises: ProxyctlError when the address cannot be used.
    """
    try:
        server = _WatchServer(host, port, watch)
    except OSError as error:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise ProxyctlError(
            f"--metrics {address}: {os_reason(error)}",
            fix="choose another address, or stop the process that listens there",
        ) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _WatchServer(ThreadingMixIn, TCPServer):
    """A server with a thread for each client. TCPServer: HTTPServer asks DNS for its own name."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, host: str, port: int, watch: ServedWatch) -> None:
        self.watch = watch
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _WatchHandler)

    def handle_error(self, _request: object, _address: object) -> None:
        """Say nothing: a client that hangs up is no event of the watch."""


class _WatchHandler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: _WatchServer
    timeout = REQUEST_TIMEOUT_S
    server_version, sys_version = "proxyctl", ""

    def do_GET(self) -> None:
        """Answer with the document."""
        accept = self.headers.get("Accept", "")
        status, kind, body = self.server.watch.answer(self.path.partition("?")[0], accept)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, _format: str, *_arguments: object) -> None:
        """Log nothing: each scrape would be a line."""
