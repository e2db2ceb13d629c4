"""What came with the releases between two versions, except tables, variables and routing. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from proxyctl.catalog import Version, parse_version
from proxyctl.catalog.releases import NEWEST_PROVEN, PGSQL, SECURITY_FIXES
from proxyctl.catalog.variables import is_secret_variable
from proxyctl.rows.row import SENSITIVE
from proxyctl.text import counted
from proxyctl.upgrade.finding import Reliance, UpgradeFinding
from proxyctl.upgrade.subject import UpgradeSubject, shown
from proxyctl.upgrade.tables import new_columns, new_tables
from proxyctl.upgrade.variables import new_variables_text


def restart(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield what the restart of an upgrade changes: it brings back what is on DISK."""
    for module, rows in subject.unsaved.items():
        yield UpgradeFinding(
            "not-saved",
            module,
            "the restart of an upgrade loads DISK, which differs from RUNTIME",
            f"to keep what runs, SAVE {module} TO DISK; otherwise LOAD {module} FROM DISK and TO"
            " RUNTIME",
            tuple(map(Reliance, rows)),
        )
    for module, rows in subject.unloaded.items():
        yield UpgradeFinding(
            "not-loaded",
            module,
            "DISK and MEMORY differ from RUNTIME: the restart of an upgrade will publish them",
            f"to publish now, LOAD {module} TO RUNTIME; to drop the edits, SAVE {module} TO MEMORY"
            " and TO DISK",
            tuple(map(Reliance, rows)),
        )
    for name, texts in subject.restarting.items():
        now, then = (SENSITIVE if is_secret_variable(name) else shown(text) for text in texts)
        yield UpgradeFinding(
            "restart-applies", name, f"{now} now, {then} after the restart of the upgrade"
        )


def direction(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield that a change of release is a downgrade."""
    if subject.to < subject.version:
        had, has = (version.has(parse_version(PGSQL)) for version in (subject.version, subject.to))
        closes = f"; {subject.to} does not listen for PostgreSQL" if had and not has else ""
        yield UpgradeFinding(
            "downgrade",
            "ProxySQL",
            f"{subject.version} -> {subject.to} is a downgrade: what {subject.to} does not know"
            f" stays on DISK without effect, and takes effect again after the next upgrade{closes}",
            "keep a copy of proxysql.db, and decide which of the settings below you can do without",
        )


def cluster(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield that members of a ProxySQL Cluster do not sync while their versions differ.

    Source: ProxySQL_Cluster.cpp compares the texts of @@version.
    """
    rows = [key for key, _ in subject.cells("proxysql_servers")]
    if rows:
        yield UpgradeFinding(
            "cluster-stops-syncing",
            "proxysql_servers",
            "members with different versions do not sync, so a change during the upgrade reaches"
            " only one of them",
            "change nothing until all members run the same version, or apply the files to each"
            " member (`--all`)",
            subject.rows("proxysql_servers", rows),
        )


def security(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the security fixes that the upgrade gains, loses and still lacks."""
    for code, chosen, text, fix in (
        ("security-fixes", subject.comes, "fixes", ""),
        (
            "security-fixes-lost",
            subject.goes,
            "has, unlike the current release,",
            "downgrade to a release that has the fixes",
        ),
    ):
        holes = [holes for release, holes in SECURITY_FIXES if chosen(release)]
        if holes:
            yield UpgradeFinding(code, "ProxySQL", f"{subject.to} {text} {'; '.join(holes)}", fix)
    missing = [
        (subject.to.numbered(release), holes)
        for release, holes in SECURITY_FIXES
        if not subject.to.has(release)
    ]
    if missing:
        listed = "; ".join(f"{holes}, fixed in {release}" for release, holes in missing)
        yield UpgradeFinding(
            "security-fixes-missing",
            "ProxySQL",
            f"{subject.to} has known vulnerabilities: {listed}",
            f"upgrade to {missing[-1][0]} or newer",
        )


def new(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield what the release has in addition, and that proxyctl was never run on it."""
    parts = []
    if text := new_variables_text(subject.version, subject.to):
        parts.append(text)
    for noun, names in (("table", new_tables(subject)), ("column", new_columns(subject))):
        if names:
            parts.append(f"{counted(len(names), noun)} ({', '.join(names)})")
    if parts:
        yield UpgradeFinding(
            "new-in-release",
            "ProxySQL",
            f"{subject.to} adds {'; '.join(parts)}, with their defaults",
        )
    if subject.to > NEWEST_PROVEN:
        yield UpgradeFinding(
            "not-proven",
            "proxyctl",
            f"proxyctl has been run on releases up to {NEWEST_PROVEN}; what it says about later"
            " ones comes from their source and release notes",
        )


# Single changes -----------------------------------------------------------------------------------


class KnownChange(NamedTuple):
    """A change that came with a release and that no table or variable shows."""

    code: str
    """The code of its finding."""
    since: Version
    """The first release with it."""
    until: Version | None
    """The first release without it, for a defect; None: later releases have it."""
    subject: str
    """What it is about."""
    message: str
    """What changes."""
    fix: str
    """What to do."""
    concerned: Callable[[UpgradeSubject], tuple[Reliance, ...] | None] = lambda _subject: ()
    """Returns the rows that rely on it; None: the configuration does not."""
    undone: str = ""
    """What a downgrade that takes it back changes; '': nothing that matters."""

    def is_in(self, version: Version) -> bool:
        """Return whether a release has it."""
        return version.has(self.since) and not (self.until and version.has(self.until))


def _amazon_servers(subject: UpgradeSubject) -> tuple[Reliance, ...] | None:
    return _rows(
        subject,
        "mysql_servers",
        lambda cells: str(cells["hostname"]).lower().endswith(".rds.amazonaws.com"),
    )


def _fast_forward_users(subject: UpgradeSubject) -> tuple[Reliance, ...] | None:
    return _rows(subject, "mysql_users", lambda cells: cells["fast_forward"] == 1)


_ROUNDS = re.compile(r"\$A\$([0-9A-Fa-f]{3})\$")


def _other_rounds(subject: UpgradeSubject) -> tuple[Reliance, ...] | None:
    """Return the users whose hash has a round count that decimal and hexadecimal read apart."""

    def is_concerned(cells: dict[str, object]) -> bool:
        match = _ROUNDS.match(str(cells["password"] or ""))
        return match is not None and not match[1].startswith("00")

    return _rows(subject, "mysql_users", is_concerned)


def _rows(
    subject: UpgradeSubject, table: str, is_concerned: Callable[[dict[str, object]], bool]
) -> tuple[Reliance, ...] | None:
    keys = [key for key, cells in subject.cells(table) if is_concerned(dict(cells))]
    return subject.rows(table, keys) or None


KNOWN_CHANGES = (
    KnownChange(
        "statistics-change",
        Version(3, 0, 1),
        None,
        "statistics",
        "query_digest_memory becomes mysql_query_digest_memory in stats_memory_metrics,"
        " whitelisted_sqli_fingerprint becomes mysql_whitelisted_sqli_fingerprint in"
        " stats_mysql_global, and stats_mysql_errors also counts 9001, 9002 and the errors of"
        " rules",
        "adapt dashboards, and alerts on the sum of stats_mysql_errors",
        undone="statistics have their 2.x names again (query_digest_memory,"
        " whitelisted_sqli_fingerprint), and stats_mysql_errors no longer counts 9001, 9002 and the"
        " errors of rules",
    ),
    KnownChange(
        "statistics-change",
        Version(3, 0, 6),
        None,
        "Prometheus",
        "the metrics gain a label, protocol (mysql or pgsql)",
        "adapt dashboards and alerts",
        undone="the metrics lose the protocol label",
    ),
    KnownChange(
        "known-defect",
        Version(3, 0, 1),
        Version(3, 0, 6),
        "PROXYSQL PAUSE",
        "PROXYSQL PAUSE and RESUME are answered twice, so the next replies on the connection are"
        " shifted by one",
        "send them on a connection of their own, and close it",
    ),
    KnownChange(
        "known-defect",
        Version(3, 0, 2),
        None,
        "SET",
        "one report says that a SET of several variables (such as sql_mode and NAMES together),"
        " which worked in 2.7.2, locks sessions to a hostgroup (issue 5771); 2.7.1 and 3.0.3 treat"
        " 88 forms of SET alike",
        "watch hostgroup_locked_set_cmds in stats_mysql_global after the upgrade",
    ),
    KnownChange(
        "known-defect",
        Version(3, 0, 7),
        Version(3, 0, 8),
        "JDBC",
        "JDBC batches with rewriteBatchedStatements are broken (issue 5672)",
        "choose a different release if an application uses it",
    ),
    KnownChange(
        "password-rounds",
        Version(3, 0, 8),
        None,
        "mysql_users.password",
        "the round count of a hash (`$A$010$`) is read as a hexadecimal number",
        "try a login of these users on a test instance; set the passwords again if it fails",
        _other_rounds,
        "the round count of a hash (`$A$010$`) is read as a decimal number again",
    ),
    KnownChange(
        "blue-green-discovery",
        Version(3, 0, 10),
        None,
        "mysql-aws_blue_green_deployment_auto_discovery",
        "it is 1 by default: during a blue/green switch of Amazon RDS the monitor adds servers at"
        " RUNTIME, and their hostgroups remain until you remove them",
        "set it to 0 after the upgrade if you do not want that; expect drift during a switch",
        _amazon_servers,
    ),
    KnownChange(
        "acts-by-itself",
        Version(3, 0, 5),
        None,
        "mysql-select_version_forwarding",
        "it determines whether ProxySQL or a server answers SELECT @@version, and is 3 by default",
        "check the version that clients get after the upgrade",
    ),
    KnownChange(
        "acts-by-itself",
        Version(3, 0, 4),
        None,
        "mysql-fast_forward_grace_close_ms",
        "it is 5000 by default: a grace period before fast-forward sessions are closed",
        "set it after the upgrade if 5 s is too long",
        _fast_forward_users,
    ),
)
"""Source: ProxySQL 2.7.1 and 3.0.3, run; for later releases their notes, the named issues, and the
source of 2026-09."""


def known_changes(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the single changes that the configuration relies on: brought or taken back."""
    for change in KNOWN_CHANGES:
        had, has = (change.is_in(version) for version in (subject.version, subject.to))
        # A defect that is repaired is no work; what an old release did otherwise may be.
        message = "" if had == has else change.message if has else change.undone
        concerned = change.concerned(subject) if message else None
        if concerned is not None:
            yield UpgradeFinding(change.code, change.subject, message, change.fix, concerned)
