"""Requested encryption that is not available."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, listed
from proxyctl.errors import counted


def find(facts: Facts) -> Iterator[Finding]:
    """Yield the servers and users whose connections cannot be encrypted as requested.

    Source: ProxySQL 2.7.1 with MariaDB 10.11, run: to a server without TLS, Ssl_cipher is empty
    whatever use_ssl says, and nothing is logged.
    """
    wanting = dict.fromkeys(server.node for server in facts.mysql.servers if server.use_ssl)
    without = [
        node
        for node in wanting
        if node in facts.answers and facts.answers[node].offers_tls is False
    ]
    if without:
        yield Finding.of_servers(
            "backend-without-tls",
            without,
            "use_ssl is 1, but the server offers no TLS: ProxySQL connects in clear text without"
            " an error",
            "switch TLS on at the server (ssl_cert, ssl_key, ssl_ca), or set `use_ssl: false`",
        )
    if facts.users_with_tls and not facts.is_on("mysql-have_ssl"):
        yield Finding(
            "users-cannot-use-tls",
            "mysql-have_ssl",
            f"{counted(len(facts.users_with_tls), 'user')} must use TLS (use_ssl 1), but ProxySQL"
            f" offers none: {listed(facts.users_with_tls)} cannot log in",
            "variables: {mysql-have_ssl: true}",
        )
