"""Findings: their codes as data, and the results for an instance and for a fleet. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from proxyctl.errors import ExitCode
from proxyctl.fleet.failed import Failed, worst
from proxyctl.lint.finding import Severity
from proxyctl.proxysql.topology import Node, node_text
from proxyctl.text import counted


class Code(NamedTuple):
    """A kind of finding."""

    severity: Severity
    """How bad the finding is."""
    summary: str
    """One sentence for the documentation."""


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

CODES = {
    "monitor-off": Code(_W, "The monitor is off, so nothing notices a failed server."),
    "monitor-denied": Code(_E, "A server refuses the monitor's account."),
    "backend-unreachable": Code(_E, "The monitor cannot connect to a server."),
    "monitor-check-failed": Code(_E, "The monitor reaches a server, but a check fails."),
    "server-shunned": Code(_W, "A server is SHUNNED and not ONLINE in any hostgroup."),
    "server-stays-shunned": Code(
        _E, "A server is SHUNNED at RUNTIME and in MEMORY or on DISK: ProxySQL never undoes this."
    ),
    "node-drained": Code(_N, "A server takes no new connections at RUNTIME."),
    "hostgroup-without-servers": Code(
        _E, "Rules or fast routing send queries to a hostgroup without a usable server."
    ),
    "users-without-servers": Code(
        _E,
        "The default hostgroup of users has no usable server. Rules may send all their queries"
        " elsewhere.",
    ),
    "family-not-checked": Code(
        _N, "The monitor has not checked the servers of a family yet, so hostgroups may be empty."
    ),
    "backend-without-tls": Code(
        _E, "A server has `use_ssl` 1 but offers no TLS: ProxySQL connects in clear text."
    ),
    "backend-certificate-expires": Code(
        _W, "The certificate of a server with `use_ssl` 1 has expired or expires within 30 days."
    ),
    "certificate-expired": Code(
        _E, "ProxySQL's certificate has expired: clients that verify it cannot log in."
    ),
    "certificate-expires": Code(_W, "ProxySQL's certificate expires within 30 days."),
    "certificate-of-other-host": Code(
        _N, "ProxySQL's certificate names hosts, but not the one that proxyctl connects to."
    ),
    "users-cannot-use-tls": Code(_E, "Users must use TLS, but `mysql-have_ssl` is false."),
    "not-loaded": Code(_W, "MEMORY holds edits that are not loaded to RUNTIME."),
    "not-saved": Code(_W, "RUNTIME is not saved to DISK: a restart will bring back the old state."),
    "mistyped-cells": Code(
        _W,
        "Cells have a type, such as BLOB, so SQL does not match the value that ProxySQL reads.",
    ),
    "restart-pending": Code(_N, "A variable will change its value at the next restart."),
    "cluster-no-account": Code(_E, "The instance has peers but no account to query them with."),
    "peer-silent": Code(_E, "A peer has never answered, or has stopped answering."),
    "peer-differs": Code(
        _E, "A peer and this instance have held different rows for 30 s or longer."
    ),
    "peer-not-synchronised": Code(
        _W, "A peer differs in an admin module that this instance does not synchronise."
    ),
    "server-version-unreadable": Code(
        _E, "`mysql-server_version` is not a version: some clients fail to log in."
    ),
    "server-version-differs": Code(_W, "`mysql-server_version` does not match the servers."),
    "server-version-unknown": Code(_N, "The version of a server could not be read."),
    "digests-off-with-rules": Code(
        _E, "`mysql-query_digests` is false, so rules with match_digest match every query."
    ),
    "digests-off": Code(_N, "`mysql-query_digests` is false: there are no query statistics."),
    "digests-large": Code(
        _W, "The digests take up 250 MB or more (measured only with `--memory`)."
    ),
    "memory-large": Code(_N, "ProxySQL uses 1 GB of memory or more."),
    "security-fixes-missing": Code(_W, "A newer release of ProxySQL fixes vulnerabilities."),
    "release-unknown": Code(_N, "ProxySQL is newer than the releases that this proxyctl knows."),
    "fast-routing-skipped": Code(
        _E, "Defect: fast routing is ignored if the last rule has apply 1."
    ),
    "re2-replaces-by-case": Code(_W, "Defect: with RE2, replace_pattern is case-sensitive."),
    "maintenance-not-seen": Code(
        _W, "Defect: the monitor reads pxc_maint_mode only on servers of 5.7 and 8."
    ),
}
"""All kinds of findings. Codes are stable: scripts ignore findings by code."""


@dataclass(frozen=True)
class Diagnosis:
    """One finding."""

    code: str
    """The kind of finding, a key of CODES."""
    where: str
    """The subject."""
    message: str
    """The finding, in one sentence."""
    fix: str
    """A command, a statement, YAML, or something to check."""
    places: tuple[str, ...] = ()
    """All subjects, if `where` counts several."""

    @classmethod
    def of_servers(cls, code: str, nodes: Iterable[Node], message: str, fix: str) -> Diagnosis:
        """Return a finding that names one server, or counts several."""
        names = sorted({node_text(node) for node in nodes})
        if len(names) == 1:
            return cls(code, names[0], message, fix)
        return cls(code, counted(len(names), "server"), message, fix, (*names,))

    @property
    def severity(self) -> Severity:
        """The severity of its code."""
        return CODES[self.code].severity


@dataclass(frozen=True)
class Examination:
    """The findings for one instance."""

    name: str
    """The name of the instance in the files, or its address."""
    address: str
    """The address of the admin interface."""
    version: str
    """The version as the instance reports it."""
    findings: tuple[Diagnosis, ...]
    """The findings, errors first."""
    ignored: int = 0
    """The number of findings that the user excluded."""
    digest_bytes: int | None = None
    """The memory of the digests; None if the user did not ask for it. Units: bytes."""

    @property
    def counts(self) -> Counter[Severity]:
        """The number of findings by severity."""
        return Counter(finding.severity for finding in self.findings)

    @property
    def worst(self) -> Severity | None:
        """The worst severity; None without findings."""
        return self.findings[0].severity if self.findings else None

    def exit_code(self, *, strict: bool) -> ExitCode:
        """Return 1 for an error, or with `strict` for a warning, otherwise 0."""
        fails = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
        return ExitCode.ERROR if self.worst in fails else ExitCode.DONE


@dataclass(frozen=True)
class ExaminedFleet:
    """All instances in the order of the files."""

    examined: Sequence[Examination]
    """The findings for each instance that could be read."""
    failed: Sequence[Failed]
    """The instances that could not be read."""

    def only(self) -> Examination:
        """Return the only instance. Raises: the error that prevented it."""
        for failure in self.failed:
            raise failure.error
        (examined,) = self.examined
        return examined

    def exit_code(self, *, strict: bool) -> ExitCode:
        """Return the worst code of all; `strict` as for `Examination.exit_code`."""
        codes = [examination.exit_code(strict=strict) for examination in self.examined]
        return worst([*codes, *(failure.error.exit_code for failure in self.failed)])


_LISTED = 4
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def listed(values: Iterable[object], most: int = _LISTED) -> str:
    """Return the first few values and the number of the others, as text."""
    texts = [str(value) for value in values]
    if len(texts) <= most + 1:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])} and {len(texts) - most} more"


def duration(seconds: float) -> str:
    """Return a time such as `3 min`, rounded down."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"
