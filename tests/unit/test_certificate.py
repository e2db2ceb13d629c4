"""The fields of a certificate that nobody verified."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from proxyctl.instance.certificate import Certificate, parsed_certificate

END = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
LATER = datetime(2051, 5, 6, 7, 8, 9, tzinfo=UTC)
"""From 2050 on a certificate writes the year with four digits."""


def der(
    *names: x509.GeneralName, common_name: str | None = "the common name", end: datetime = END
) -> bytes:
    """Return a certificate that signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "an organisation")]
    if common_name is not None:
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(attributes))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "the issuer")]))
        .public_key(key.public_key())
        .serial_number(2**150 + 1)
        .not_valid_before(end - timedelta(days=300))
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


@pytest.mark.parametrize("end", [END, LATER])
def test_its_end_and_its_common_name(end: datetime) -> None:
    found = parsed_certificate(der(end=end))
    assert found == Certificate(int(end.timestamp()), ("the common name",))


def test_alternative_names_win() -> None:
    found = parsed_certificate(
        der(
            x509.DNSName("px.example.com"),
            x509.RFC822Name("me@example.com"),
            x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
            x509.IPAddress(ipaddress.ip_address("fd00::1")),
        )
    )
    assert found.names == ("px.example.com", "10.0.0.1", "fd00::1")
    assert parsed_certificate(der(common_name=None)).names == ()


@pytest.mark.parametrize(
    ("host", "names", "is_named"),
    [
        ("px.example.com", ("PX.example.com",), True),
        ("px.example.com", ("*.example.com",), True),
        ("px.db.example.com", ("*.example.com",), False),
        ("other.example.com", ("px.example.com", "10.0.0.1"), False),
        ("10.0.0.1", ("px.example.com", "10.0.0.1"), True),
        ("10.0.0.2", ("10.0.0.1",), False),
        ("", ("px.example.com",), True),
        ("px.example.com", ("ProxySQL_Auto_Generated_Server_Certificate",), True),
        ("px.example.com", (), True),
    ],
)
def test_the_host_that_it_is_for(host: str, names: tuple[str, ...], is_named: bool) -> None:
    assert Certificate(0, names, host).names_host() is is_named


def test_damaged_bytes_are_no_certificate() -> None:
    whole = der(x509.DNSName("px.example.com"))
    assert [n for n in range(len(whole)) if is_read(whole[:n])] == []
    for position, byte in product(range(len(whole)), (0x00, 0x30, 0x80, 0xFF)):
        is_read(whole[:position] + bytes([byte]) + whole[position + 1 :])


def is_read(der: bytes) -> bool:
    """Return whether the bytes are taken for a certificate; no other error may be raised."""
    try:
        parsed_certificate(der)
    except ValueError:
        return False
    return True
