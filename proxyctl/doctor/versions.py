"""Compares `mysql-server_version`, which clients see, with the versions of the servers."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog.releases import is_mariadb, version_numbers
from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, listed
from proxyctl.state.families import Node, node_text

_NAME = "mysql-server_version"


def find(facts: Facts) -> Iterator[Finding]:
    """Yield a version for clients that does not fit the servers."""
    announced = facts.variables.get(_NAME, "")
    numbers = version_numbers(announced)
    if announced and numbers is None:
        yield Finding(
            "server-version-unreadable",
            _NAME,
            f"clients are told {announced}, which is not a version number: some cannot log in",
            _fix(facts),
        )
    elif numbers is not None and (reason := _difference(facts, announced, numbers)):
        servers = "; ".join(
            f"{text} ({listed(map(node_text, nodes))})" for text, nodes in _by_version(facts)
        )
        yield Finding(
            "server-version-differs",
            _NAME,
            f"clients are told {announced}, {reason}; the servers are {servers}",
            _fix(facts),
        )
    if not facts.is_sandbox:  # whose servers are made up
        yield from _unknown(facts)


def _difference(facts: Facts, announced: str, numbers: tuple[int, int, int]) -> str:
    """Return how the version differs from the servers; empty if it fits.

    A lower patch level of the lowest server's series fits.
    """
    found = [one for text in facts.versions.values() if (one := version_numbers(text))]
    if not found:
        return ""
    if any(is_mariadb(text) is not is_mariadb(announced) for text in facts.versions.values()):
        return "but a server is another product, and drivers choose their SQL by the version"
    if numbers > min(found):
        return "which is newer than a server: they may use features that it lacks"
    if numbers[:2] < min(found)[:2]:
        return "an older series than any server: drivers may not use newer features"
    return ""


def _by_version(facts: Facts) -> list[tuple[str, list[Node]]]:
    found: dict[str, list[Node]] = {}
    for node, text in facts.versions.items():
        found.setdefault(text, []).append(node)
    return sorted(found.items())


def _fix(facts: Facts) -> str:
    """Return the YAML that sets the lowest version of the servers."""
    found = [
        (one, text)
        for text in facts.versions.values()
        if (one := version_numbers(text)) is not None
    ]
    numbers, text = min(found, default=((8, 0, 36), ""))
    suffix = "-MariaDB" if is_mariadb(text) else ""
    return f'variables: {{{_NAME}: "{".".join(map(str, numbers))}{suffix}"}}'


def _unknown(facts: Facts) -> Iterator[Finding]:
    """Yield the servers that did not answer, except those that the monitor does not reach."""
    down = {log.node for log in facts.monitor_logs if log.error}
    reasons: dict[str, list[Node]] = {}
    for node, answer in facts.answers.items():
        if node not in facts.versions and node not in down:
            reasons.setdefault(answer.unreachable or "no answer", []).append(node)
    for reason, nodes in reasons.items():
        yield Finding.of_servers(
            "server-version-unknown",
            nodes,
            f"proxyctl could not ask from this machine for version and TLS: {reason}",
            "run doctor on a machine from which the monitor's account can log in, or with --no-ask",
        )
