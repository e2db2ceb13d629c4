"""What protects the way to an instance: TLS, and what is never sent without it.

A password must not leave because the other end asks for it: who listens in, or took the port while
ProxySQL was down, can answer like a server and ask for it in clear text.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from proxyctl.errors import InstanceError

if TYPE_CHECKING:
    from proxyctl.admin.login import Login

_WITHOUT_PROTECTION = frozenset((b"mysql_clear_password", b"dialog", b"mysql_old_password"))
"""Methods that send the password as it is, or nearly. ProxySQL's admin interface has none."""


def tls_context(login: Login) -> ssl.SSLContext | None:
    """Return how TLS is to be used, or None where nobody asked for it.

    Raises: InstanceError for a CA that cannot be used.
    """
    if not (login.tls_required or login.tls_ca):
        return None
    try:
        if login.read_ca is None:
            context = ssl.create_default_context(cafile=login.tls_ca)
        else:
            # Without any text it would trust every CA of the system; a blank is an error.
            context = ssl.create_default_context(cadata=login.read_ca() or " ")
    except OSError as error:  # an SSLError, too, is one
        name = "--tls-ca" if login.read_ca is None else "tls_ca"
        raise InstanceError(f"{name} {login.tls_ca}: {error.strerror or error}") from error
    # ProxySQL's own certificates carry no host name: the CA is what is verified.
    context.check_hostname = False
    if login.tls_ca is None:
        context.verify_mode = ssl.CERT_NONE
    return context


def is_local(login: Login) -> bool:
    """Return whether nothing between us and the instance can listen in: TLS only costs time then.

    Elsewhere TLS is used as soon as the instance offers it.
    """
    return login.socket is not None or login.host in ("127.0.0.1", "::1", "localhost")


def why_not_answered(method: bytes) -> str | None:
    """Return why we do not log in by the method that the other end asks for, or None."""
    if method not in _WITHOUT_PROTECTION:
        return None
    return f"it asks for the password by {method.decode()}, as no ProxySQL does; it was not sent"


def why_no_key(login: Login) -> str | None:
    """Return why the password is not encrypted with a key that just came over the wire, or None.

    Whoever stands between can send a key of his own.
    """
    if is_local(login):
        return None
    return (
        "it asks for the whole password without TLS, with a key that nobody vouches for;"
        " it was not sent"
    )


def protection(connection: Any, login: Login) -> str:  # noqa: ANN401 - a socket of any kind
    """Return how an open connection is protected, for people."""
    version = getattr(connection, "version", lambda: None)()
    if version is None:
        return "no TLS: a local socket" if login.socket else "no TLS"
    return f"{version}, the certificate is {'verified' if login.tls_ca else 'not verified'}"
