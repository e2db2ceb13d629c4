"""The versions of the servers against mysql-server_version, which clients are told."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.doctor.facts import Facts
from proxyctl.doctor.finding import Finding, Severity, check
from proxyctl.doctor.wording import nodes_text
from proxyctl.families import Node
from proxyctl.server_version import is_mariadb, version_numbers

_Numbers = tuple[int, int, int]

_NAME = "mysql-server_version"
_FRACTIONS_SINCE = (5, 6, 4)
"""The first MySQL that keeps fractions of seconds; to an older one some drivers send none."""


def _lowest(facts: Facts) -> tuple[_Numbers, str] | None:
    """Return the lowest version behind ProxySQL, as numbers and as said; None: none is known."""
    known = [
        (numbers, text)
        for text in facts.versions.values()
        if (numbers := version_numbers(text)) is not None
    ]
    return min(known) if known else None


def _proposed(text: str) -> str:
    """Return the YAML that tells clients this version, without what a packager added to it."""
    numbers = ".".join(map(str, version_numbers(text) or ()))
    product = "-MariaDB" if is_mariadb(text) else ""
    return f'variables: {{{_NAME}: "{numbers}{product}"}}'


@check("server-version-unreadable", Severity.ERROR)
def unreadable(facts: Facts) -> Iterator[Finding]:
    """`mysql-server_version` does not begin with a version number: some clients fail to log in."""
    told = facts.variables.get(_NAME, "")
    if told and version_numbers(told) is None:
        lowest = _lowest(facts)
        yield Finding(
            _NAME,
            f"clients are told {told}, which does not begin with a version number: some of them"
            " fail to log in",
            _proposed(lowest[1] if lowest else "8.0.36"),
        )


@check("server-version-product", Severity.WARNING)
def other_product(facts: Facts) -> Iterator[Finding]:
    """Clients are told MySQL where a server is MariaDB, or the other way round."""
    told = facts.variables.get(_NAME, "")
    if version_numbers(told) is None:
        return
    others = {
        node: text
        for node, text in facts.versions.items()
        if is_mariadb(text) is not is_mariadb(told)
    }
    lowest = _lowest(facts)
    if others and lowest:
        way_out = _proposed(lowest[1])
        if len(others) < len(facts.versions):
            way_out = (
                "no version fits both: put the servers of each product behind a ProxySQL of their"
                " own"
            )
        yield Finding(
            _NAME,
            f"clients are told {told}, and {_with_versions(others)}: drivers choose by it the SQL"
            " they send",
            way_out,
        )


@check("server-version-above", Severity.WARNING)
def above(facts: Facts) -> Iterator[Finding]:
    """Clients are told a version above that of a server, and may send what it does not know."""
    for told, numbers, lowest, text in _compared(facts):
        if numbers > lowest:
            lower = {n: v for n, v in facts.versions.items() if version_numbers(v) == lowest}
            yield Finding(
                _NAME,
                f"clients are told {told}, and {_with_versions(lower)}: they may send what it does"
                " not know",
                _proposed(text),
            )


@check("server-version-below", Severity.WARNING)
def below(facts: Facts) -> Iterator[Finding]:
    """Clients are told a version of an older series than that of any server.

    An old default may have stayed on DISK: it was 5.5.30 before ProxySQL 2.6, 8.0.11 since.
    """
    for told, numbers, lowest, text in _compared(facts):
        if numbers[:2] >= lowest[:2]:
            continue
        message = f"clients are told {told}, and the lowest server is {text}"
        if numbers < _FRACTIONS_SINCE <= lowest:
            message += ": below 5.6.4 some drivers leave out fractions of seconds, silently"
        else:
            message += ": drivers may ask for variables that it no longer has"
        yield Finding(_NAME, message, _proposed(text))


def _compared(facts: Facts) -> Iterator[tuple[str, _Numbers, _Numbers, str]]:
    """Yield what clients are told and the lowest version, both also as numbers.

    Nothing where the two cannot be compared.
    """
    told, lowest = facts.variables.get(_NAME, ""), _lowest(facts)
    numbers = version_numbers(told)
    if numbers is None or lowest is None:
        return
    if any(is_mariadb(text) is not is_mariadb(told) for text in facts.versions.values()):
        return
    yield told, numbers, *lowest


@check("server-versions-differ", Severity.INFO)
def several(facts: Facts) -> Iterator[Finding]:
    """The servers are of several series, and one `mysql-server_version` stands for all."""
    series = {
        (is_mariadb(text), (version_numbers(text) or (0, 0, 0))[:2])
        for text in facts.versions.values()
    }
    lowest = _lowest(facts)
    if len(series) < 2 or lowest is None or len({*map(is_mariadb, facts.versions.values())}) > 1:
        return  # of two products another check tells: no version fits both
    hostgroups: dict[str, set[int]] = {}
    for server in facts.servers:
        if server.node in facts.versions:
            hostgroups.setdefault(facts.versions[server.node], set()).add(server.hostgroup)
    parts = [
        f"{text} in {', '.join(map(str, sorted(found)))}"
        for text, found in sorted(hostgroups.items())
    ]
    yield Finding(
        "hostgroups",
        f"several versions ({'; '.join(parts)}): clients are told one, whatever hostgroup they"
        " come to",
        "go on telling the lowest until all are alike"
        if version_numbers(facts.variables.get(_NAME, "")) == lowest[0]
        else f"tell the lowest until all are alike: {_proposed(lowest[1])}",
    )


@check("server-version-unknown", Severity.INFO)
def unknown(facts: Facts) -> Iterator[Finding]:
    """The version of a server is not known: it was not reached from here."""
    if not facts.asks:
        return
    # The monitor does not get through to these either: another check tells that.
    down = {log.node for log in facts.monitor_logs if log.error}
    missing = {
        node: facts.said[node].unreachable
        for node in facts.nodes
        if node in facts.said and node not in facts.versions and node not in down
    }
    reasons: dict[str | None, list[Node]] = {}
    for node, reason in missing.items():
        reasons.setdefault(reason, []).append(node)
    for reason, nodes in reasons.items():
        yield Finding(
            nodes_text(nodes),
            f"version and TLS are not known; asked from here: {reason or 'no answer'}",
            "run proxyctl where the monitor account may log in from, or look there:"
            " SELECT @@version",
        )


def _with_versions(versions: dict[Node, str]) -> str:
    """Return `db1:3306 is 8.0.36`."""
    by_text: dict[str, list[Node]] = {}
    for node, text in versions.items():
        by_text.setdefault(text, []).append(node)
    return "; ".join(
        f"{nodes_text(nodes)} {'is' if len(nodes) == 1 else 'are'} {text}"
        for text, nodes in by_text.items()
    )
