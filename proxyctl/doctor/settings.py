"""Harmful settings: encryption, the version for clients, digests and memory."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from proxyctl.catalog.releases import is_mariadb, version_numbers
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Diagnosis, duration, listed
from proxyctl.proxysql.topology import Node, node_text
from proxyctl.stats.units import size_text
from proxyctl.text import counted


def encryption(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the servers and users that ask for encrypted connections and cannot get them.

    Source: ProxySQL 2.7.1 with MariaDB 10.11, run: to a server without TLS, Ssl_cipher is empty
    whatever use_ssl is, and the log has no message.
    """
    wanting = dict.fromkeys(server.node for server in facts.mysql.servers if server.use_ssl)
    without = [
        node
        for node in wanting
        if node in facts.answers and facts.answers[node].offers_tls is False
    ]
    if without:
        yield Diagnosis.of_servers(
            "backend-without-tls",
            without,
            "use_ssl is 1, but the server offers no TLS: ProxySQL connects in clear text without"
            " an error",
            "turn on TLS on the server (ssl_cert, ssl_key, ssl_ca), or set `use_ssl: false`",
        )
    if facts.users_with_tls and not facts.is_on("mysql-have_ssl"):
        yield Diagnosis(
            "users-cannot-use-tls",
            "mysql-have_ssl",
            f"{counted(len(facts.users_with_tls), 'user')} must use TLS (use_ssl 1), but ProxySQL"
            f" offers none: {listed(facts.users_with_tls)} cannot log in",
            "set variables: {mysql-have_ssl: true}",
        )


_DAY_S = 86_400
_SOON_DAYS = 30
_NEW_CERTIFICATE = (
    "replace proxysql-cert.pem and proxysql-key.pem in its data directory, then send PROXYSQL"
    " RELOAD TLS"
)


def certificate(facts: Facts) -> Iterator[Diagnosis]:
    """Yield a finding if clients that verify ProxySQL's certificate refuse it, now or soon."""
    shown = facts.certificate
    if shown is None:
        return
    expiry = _expiry(shown.not_after, facts.now)
    if shown.not_after < facts.now:
        message = f"it {expiry}: clients that verify it cannot log in"
        yield Diagnosis("certificate-expired", _CERTIFICATE, message, _NEW_CERTIFICATE)
    elif expiry:
        yield Diagnosis("certificate-expires", _CERTIFICATE, f"it {expiry}", _NEW_CERTIFICATE)
    if not shown.names_host():
        message = (
            f"it is for {listed(shown.names)}: clients that verify names will refuse {shown.host}"
        )
        fix = f"let clients use one of its names, or include {shown.host} in a new certificate"
        yield Diagnosis("certificate-of-other-host", _CERTIFICATE, message, fix)


def backend_certificates(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the servers with use_ssl 1 whose certificate has expired or soon will.

    Source: ProxySQL 2.7.1 and 3.0.3, run: it verifies the certificate of a server only with a CA.
    """
    nodes: dict[str, list[Node]] = {}
    for node in dict.fromkeys(server.node for server in facts.mysql.servers if server.use_ssl):
        answer = facts.answers.get(node)
        if answer and (expiry := _expiry(answer.certificate_end, facts.now)):
            nodes.setdefault(expiry, []).append(node)
    for expiry, expiring in nodes.items():
        message = (
            f"use_ssl is 1, and the certificate {expiry}; if ProxySQL verifies it"
            " (mysql-ssl_p2s_ca, mysql_servers_ssl_params), no new connection will succeed after"
            " that"
        )
        fix = "install a new certificate on the server (ssl_cert, ssl_key)"
        yield Diagnosis.of_servers("backend-certificate-expires", expiring, message, fix)


def _expiry(end: int | None, now: int) -> str:
    """Return when a certificate expires; '' if it is unknown or more than 30 days away."""
    if end is None or end - now >= _SOON_DAYS * _DAY_S:
        return ""
    day = datetime.fromtimestamp(end, UTC).date()
    return f"expired on {day}" if end < now else f"expires on {day}, in {duration(end - now)}"


_CERTIFICATE = "certificate"
_SERVER_VERSION = "mysql-server_version"


def server_version(facts: Facts) -> Iterator[Diagnosis]:
    """Yield a finding if the version for clients does not fit the servers."""
    announced = facts.variables.get(_SERVER_VERSION, "")
    numbers, shown = version_numbers(announced), facts.shown(_SERVER_VERSION, announced)
    if announced and numbers is None:
        yield Diagnosis(
            "server-version-unreadable",
            _SERVER_VERSION,
            f"clients are told {shown}, which is not a version number: some cannot log in",
            _fix(facts),
        )
    elif numbers is not None and (reason := _difference(facts, announced, numbers)):
        servers = "; ".join(
            f"{text} ({listed(map(node_text, nodes))})" for text, nodes in _by_version(facts)
        )
        yield Diagnosis(
            "server-version-differs",
            _SERVER_VERSION,
            f"clients are told {shown}, {reason}; the servers are {servers}",
            _fix(facts),
        )
    if not facts.is_sandbox:  # the servers of a sandbox do not exist
        yield from _unknown(facts)


def _difference(facts: Facts, announced: str, numbers: tuple[int, int, int]) -> str:
    """Return how the version differs from those of the servers; empty if it fits.

    A lower patch level in the series of the lowest server fits.
    """
    versions = [parsed for text in facts.versions.values() if (parsed := version_numbers(text))]
    if not versions:
        return ""
    if any(is_mariadb(text) is not is_mariadb(announced) for text in facts.versions.values()):
        return "but not every server is that product: drivers choose their SQL by version"
    if numbers > min(versions):
        return "which is newer than a server: they may use features that the server lacks"
    if numbers[:2] < min(versions)[:2]:
        return "an older series than any server: drivers may not use newer features"
    return ""


def _by_version(facts: Facts) -> list[tuple[str, list[Node]]]:
    nodes_by_version: dict[str, list[Node]] = {}
    for node, text in facts.versions.items():
        nodes_by_version.setdefault(text, []).append(node)
    return sorted(nodes_by_version.items())


def _fix(facts: Facts) -> str:
    """Return YAML that sets the lowest version of the servers."""
    versions = [
        (parsed, text)
        for text in facts.versions.values()
        if (parsed := version_numbers(text)) is not None
    ]
    numbers, text = min(versions, default=((8, 0, 36), ""))
    suffix = "-MariaDB" if is_mariadb(text) else ""
    return f'set variables: {{{_SERVER_VERSION}: "{".".join(map(str, numbers))}{suffix}"}}'


def _unknown(facts: Facts) -> Iterator[Diagnosis]:
    """Yield the servers that did not answer, except servers that the monitor does not reach."""
    down = {log.node for log in facts.monitor_logs if log.error}
    reasons: dict[str, list[Node]] = {}
    for node, answer in facts.answers.items():
        if node not in facts.versions and node not in down:
            reasons.setdefault(answer.unreachable or "no answer", []).append(node)
    for reason, nodes in reasons.items():
        yield Diagnosis.of_servers(
            "server-version-unknown",
            nodes,
            f"proxyctl could not query the version and TLS support from this machine: {reason}",
            "run doctor on a machine from which the monitor's account can log in, or use --no-ask",
        )


_RESIDENT = 1_000_000_000
_DIGESTS = 250_000_000
"""Units: bytes. Reading so many digests blocks the admin interface for five seconds."""
_DIGESTS_ON = "mysql-query_digests"


def memory(facts: Facts) -> Iterator[Diagnosis]:
    """Yield findings on digests, and on large memory."""
    if not facts.is_on(_DIGESTS_ON):
        yield _digests_off(facts)
    if facts.digest_bytes is not None and facts.digest_bytes >= _DIGESTS:
        yield Diagnosis(
            "digests-large",
            "stats_mysql_query_digest",
            f"the digests take up {size_text(facts.digest_bytes)}: reading them blocks the admin"
            " interface for seconds",
            "empty the table with `proxyctl digest reset`",
        )
    if facts.resident_bytes is not None and facts.resident_bytes >= _RESIDENT:
        yield Diagnosis(
            "memory-large",
            "memory",
            f"ProxySQL uses {size_text(facts.resident_bytes)} of memory",
            "find out what uses it: `proxyctl doctor --memory` measures the digests,"
            " stats_memory_metrics lists all parts. Queries wait while either is read",
        )


def _digests_off(facts: Facts) -> Diagnosis:
    """Return the finding for digests that are off. Source: ProxySQL 2.7.1, run."""
    fix = f"set variables: {{{_DIGESTS_ON}: true}}"
    ids = [rule.rule_id for rule in facts.rules if rule.matches_digest]
    if not ids:
        message = "digests are off: `proxyctl digest` has nothing to show"
        return Diagnosis("digests-off", _DIGESTS_ON, message, fix)
    rules = f"{'rules' if len(ids) > 1 else 'rule'} {listed(ids)}"
    message = f"digests are off, so match_digest of {rules} matches every query"
    return Diagnosis("digests-off-with-rules", _DIGESTS_ON, message, fix)
