"""Encryption that somebody asked for, and that cannot be had."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import listed, nodes_text
from proxyctl.errors import counted


@check("backend-without-tls", Severity.ERROR)
def backend_without(facts: Facts) -> Iterator[Finding]:
    """A server has `use_ssl` 1 and offers no TLS: ProxySQL connects in clear text, silently.

    Source: ProxySQL 2.7.1 with MariaDB 10.11, run: Ssl_cipher is empty, and nothing is logged.
    """
    wanting = dict.fromkeys(server.node for server in facts.servers if server.use_ssl)
    found = [
        node for node in wanting if node in facts.said and facts.said[node].offers_tls is False
    ]
    if found:
        yield Finding(
            nodes_text(found),
            "use_ssl is 1, and the server offers no TLS: ProxySQL connects without it, in clear"
            " text, and says nothing",
            "switch TLS on there (ssl_cert, ssl_key, ssl_ca), or say `use_ssl: false`",
        )


@check("users-cannot-use-tls", Severity.ERROR)
def users_without(facts: Facts) -> Iterator[Finding]:
    """Users have to use TLS, and ProxySQL offers none, as `mysql-have_ssl` is false."""
    names = sorted(user.username for user in facts.users if user.use_ssl)
    if names and not facts.is_on("mysql-have_ssl"):
        yield Finding(
            "mysql-have_ssl",
            f"{counted(len(names), 'user')} must use TLS (use_ssl 1), and ProxySQL offers none:"
            f" {listed(names)} cannot log in",
            "variables: {mysql-have_ssl: true}",
        )
