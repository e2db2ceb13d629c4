"""The way to the instance: TLS that is verified, and a password that is not given to anybody."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.journeys.story import FILES, plan, said
from tests.support.cli import Project
from tests.support.hostile_server import HostileServer
from tests.support.servers import ProxySQL

PASSWORD = "s3cret-of-app"
NOT_LOCAL = "127.0.1.7"
"""An address that is not taken for this machine, though it is."""

_SWITCH = b"\xfe%b\0abcdefghijklmnopqrst\0"
_WANTS_WHOLE_PASSWORD = b"\x01\x04"
_KEY = b"\x01-----BEGIN PUBLIC KEY-----\nof whoever stands between\n-----END PUBLIC KEY-----\n"


@pytest.fixture
def bait(offline: Project) -> Project:
    """A project that logs in with a password that nobody should get."""
    offline.write(FILES)
    offline.monkeypatch.setenv("PROXYCTL_PASSWORD", PASSWORD)
    return offline


@pytest.mark.parametrize("method", [b"mysql_clear_password", b"dialog", b"mysql_old_password"])
def test_a_server_that_asks_for_the_password_in_clear_text_does_not_get_it(
    bait: Project, method: bytes
) -> None:
    with HostileServer(b"mysql_native_password", _SWITCH % method) as server:
        found = plan("--port", str(server.port))
    said(found, 1, f"asks for the password by {method.decode()}", "the password was not sent")
    assert server.heard
    assert PASSWORD.encode() not in server.heard


@pytest.mark.parametrize(
    "answers",
    [
        (b"caching_sha2_password", _WANTS_WHOLE_PASSWORD, _KEY),
        (b"mysql_native_password", _SWITCH % b"caching_sha2_password", _WANTS_WHOLE_PASSWORD, _KEY),
        (b"sha256_password", _KEY),
    ],
)
def test_a_key_that_comes_over_the_wire_is_not_believed(
    bait: Project, answers: tuple[bytes, ...]
) -> None:
    with HostileServer(*answers, host=NOT_LOCAL) as server:
        found = plan("--host", server.host, "--port", str(server.port))
    said(found, 1, "asks for the password without TLS", "the password was not sent")
    # The greeting's scramble, and the wish for a key. Nothing is encrypted with it.
    assert len(server.heard) < 200


@pytest.mark.parametrize("option", ["--tls-required", "--tls-ca"])
def test_without_tls_nothing_is_sent_where_it_is_required(bait: Project, option: str) -> None:
    authority, _, _ = certificates(bait.folder, "proxysql.example.com")
    asked = (option,) if option == "--tls-required" else (option, str(authority))
    with HostileServer(b"mysql_native_password") as server:
        found = plan("--port", str(server.port), *asked)
    said(found, 1, "TLS failed", "mysql-have_ssl")
    assert server.heard == b""


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def certificates(folder: Path, name: str) -> tuple[Path, Path, Path]:
    """Return a new CA, a certificate of it for a host, and its key."""
    authority, key, request = (folder / f"{name}-{part}.pem" for part in ("ca", "key", "csr"))
    authority_key, certificate = folder / f"{name}-ca-key.pem", folder / f"{name}-cert.pem"
    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(
        *new, "-x509", "-days", "2", "-subj", f"/CN=CA of {name}",
        "-keyout", str(authority_key), "-out", str(authority),
    )  # fmt: skip
    openssl(*new, "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(request))
    openssl(
        "x509", "-req", "-days", "2", "-CA", str(authority), "-CAkey", str(authority_key),
        "-CAcreateserial", "-in", str(request), "-out", str(certificate),
    )  # fmt: skip
    return authority, certificate, key


@pytest.mark.since("2.6.0", "its admin interface offers no TLS")
def test_tls_with_certificates_of_our_own(
    fresh_proxysql: ProxySQL, offline: Project, tmp_path: Path
) -> None:
    """The CA is what is verified: a certificate of it counts whatever host it is for."""
    authority, certificate, key = certificates(tmp_path, "proxysql.example.com")
    stranger, _, _ = certificates(tmp_path, "somebody.example.org")
    fresh_proxysql.stop()
    for name, path in (("ca", authority), ("cert", certificate), ("key", key)):
        path.replace(fresh_proxysql.folder / f"proxysql-{name}.pem")
    fresh_proxysql.start()
    offline.connect(fresh_proxysql.instance)
    offline.write(FILES)
    ours = str(fresh_proxysql.folder / "proxysql-ca.pem")

    found = plan("--tls-ca", ours, "--debug")
    assert found.code == 2, found.text
    assert "TLSv1.3, the certificate is verified" in found.err
    found = plan("--tls-required", "--debug")
    assert found.code == 2, found.text
    assert "TLSv1.3, the certificate is not verified" in found.err
    said(plan("--tls-ca", str(stranger)), 1, "TLS failed", "certificate verify failed")

    offline.write(
        f"instances:\n  - {{name: px, host: 127.0.0.1, port: {fresh_proxysql.port}, user: admin,"
        f" tls_required: true, tls_ca: {stranger}}}\n{FILES}"
    )
    for name in ("HOST", "PORT"):
        offline.monkeypatch.delenv(f"PROXYCTL_{name}")
    said(plan("--instance", "px"), 1, "TLS failed")
    assert plan("--instance", "px", "--tls-ca", ours).code == 2
    (offline.folder / "ca.pem").write_bytes(Path(ours).read_bytes())
    files = (offline.folder / "proxyctl.yaml").read_text()
    offline.write(files.replace(str(stranger), "ca.pem"))
    found = plan("--instance", "px", "--restrict-paths", "--debug")
    assert found.code == 2, found.text
    assert "TLSv1.3, the certificate is verified" in found.err
    offline.write(files.replace(str(stranger), "proxyctl.yaml"))
    said(plan("--instance", "px"), 1, "tls_ca proxyctl.yaml: no certificate in PEM")
