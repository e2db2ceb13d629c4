"""TLS with an instance or a server: what is verified, and what is not."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from proxyctl.errors import InstanceError
from proxyctl.instance.sockets import BoundedTLSSocket


@dataclass(frozen=True)
class Authority:
    """A CA: the name of its file in messages, and a function that returns its PEM text."""

    name: str
    read: Callable[[], str]


def verified(ca: Authority, *, names_host: bool = False) -> ssl.SSLContext:
    """Return the TLS context that takes a certificate of this CA only.

    `names_host`: the certificate also has to name the host; those that ProxySQL and MySQL make for
    themselves name none. Raises: InstanceError for an unusable CA.
    """
    try:
        # With an empty text it would trust every CA of the system; a blank is an error.
        context = ssl.create_default_context(cadata=ca.read() or " ")
    except ssl.SSLError as error:
        raise InstanceError(
            f"{ca.name}: no certificate in PEM format",
            fix="name the file of the CA that signed the server's certificate",
        ) from error
    context.check_hostname = names_host
    context.sslsocket_class = BoundedTLSSocket
    return context


@cache
def unverified() -> ssl.SSLContext:
    """Return the TLS context that takes every certificate.

    A default context loads the machine's certificates, which takes 30 ms each time.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.sslsocket_class = BoundedTLSSocket
    return context
