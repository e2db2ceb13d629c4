"""The certificate that an instance shows to its clients.

Python's ssl reads the fields of verified certificates only, and nobody can verify the one that
ProxySQL makes for itself. So the few fields that count are read from its bytes here.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from proxyctl.errors import InstanceError
from proxyctl.instance.client import AdminClient
from proxyctl.instance.connect import is_local, open_connection

_COMMON_NAME, _ALTERNATIVE_NAMES = bytes.fromhex("550403"), bytes.fromhex("551d11")
"""The object identifiers 2.5.4.3 and 2.5.29.17."""

_VERSION, _UTC_TIME, _EXTENSIONS, _DNS_NAME, _ADDRESS = 0xA0, 0x17, 0xA3, 0x82, 0x87
"""Tags of DER."""


@dataclass(frozen=True)
class Certificate:
    """The fields of a certificate that decide whether a client accepts it."""

    not_after: int
    """When it expires. Units: unix seconds."""
    names: tuple[str, ...] = ()
    """The hosts that it is for: its alternative names, or else its common name."""
    host: str = ""
    """The host that proxyctl connects to; '' for this machine."""

    def names_host(self) -> bool:
        """Return whether it is for the host, or for no host at all."""
        is_for_hosts = any("." in name or ":" in name for name in self.names)
        if not self.host or not is_for_hosts:
            return True
        _, _, domain = self.host.lower().partition(".")
        return not {self.host.lower(), f"*.{domain}"}.isdisjoint(map(str.lower, self.names))


def read_certificate(client: AdminClient) -> Certificate | None:
    """Return the certificate of an instance; None if it offers no TLS, or an unreadable one.

    Opens a connection of its own: one on the same machine uses no TLS otherwise. The port for
    applications has the same certificate. Source: ProxySQL 2.7.1 and 3.0.3, run.
    """
    login = client.login
    try:
        connection: Any = open_connection(replace(login, tls_required=True))
    except InstanceError:
        return None
    try:
        der: bytes | None = connection._sock.getpeercert(binary_form=True)
    finally:
        connection.close()
    try:
        certificate = parsed_certificate(der or b"")
    except ValueError:
        return None
    return (
        certificate
        if is_local(login)
        else replace(certificate, host=login.certificate_name or login.host)
    )


def parsed_certificate(der: bytes) -> Certificate:
    """Return the fields of a certificate in DER. Raises: ValueError for anything else."""
    try:
        ((_, certificate),) = _elements(der)
        fields = [*_elements(next(_elements(certificate))[1])]
        # Serial number, signature, issuer, validity and subject stand behind the version, if any.
        has_version = fields[0][0] == _VERSION
        (_, validity), (_, subject) = fields[3 + has_version : 5 + has_version]
        _, (tag, end) = _elements(validity)
        names = [*_alternative_names(fields)] or [*_common_names(subject)]
        return Certificate(_time(tag, end.decode("ascii")), tuple(names))
    except (IndexError, OverflowError, RuntimeError, StopIteration) as error:
        raise ValueError("not a certificate") from error


def _elements(der: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and content of each element. Raises: ValueError, IndexError."""
    while der:
        tag, length, start = der[0], der[1], 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[2:start], "big")
        content, der = der[start : start + length], der[start + length :]
        if len(content) != length:
            raise ValueError("cut")
        yield tag, content


def _time(tag: int, text: str) -> int:
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return int(datetime.strptime(text, form).replace(tzinfo=UTC).timestamp())


def _common_names(subject: bytes) -> Iterator[str]:
    for _, part in _elements(subject):
        for _, attribute in _elements(part):
            (_, kind), (_, name) = _elements(attribute)
            if kind == _COMMON_NAME:
                yield name.decode("utf-8", "replace")


def _alternative_names(fields: Sequence[tuple[int, bytes]]) -> Iterator[str]:
    extensions = (content for tag, content in fields if tag == _EXTENSIONS)
    for _, extension in _elements(next(_elements(next(extensions, b"\x30\x00")))[1]):
        (_, kind), *_, (_, content) = _elements(extension)
        if kind == _ALTERNATIVE_NAMES:
            for tag, name in _elements(next(_elements(content))[1]):
                if tag == _DNS_NAME:
                    yield name.decode("ascii", "replace")
                elif tag == _ADDRESS:
                    yield str(ipaddress.ip_address(name))
