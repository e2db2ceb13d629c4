"""Variables that a release lacks, refuses or adds, and the addresses on which it listens. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from proxyctl.catalog import Variable, VariableKind, Version
from proxyctl.catalog.variable_rules import INTERFACES, atoi, bounds, number_complaint
from proxyctl.catalog.variables import VARIABLES
from proxyctl.text import counted
from proxyctl.upgrade.finding import Reliance, UpgradeFinding
from proxyctl.upgrade.subject import UpgradeSubject, shown

_UNLISTED_IN = Version(3, 0, 11)
_UNLISTED = tuple(
    f"pgsql-{name}"
    for name in (
        "client_session_track_gtid",
        "default_session_track_gtids",
        "enable_client_deprecate_eof",
        "enable_load_data_local_infile",
        "enable_server_deprecate_eof",
        "handle_warnings",
        "log_mysql_warnings_enabled",
    )
)
"""Variables of 3.0.3 that the source after 3.0.11 does not list. The release that dropped them is
not known. Source: 3.0.3, run; PgSQL_Thread.cpp of 2026-09."""


def variables(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield what the release does with variables."""
    yield from _listeners(subject)
    for variable in VARIABLES.values():
        if variable.exists_in(subject.version):
            yield from _of_variable(subject, variable)
    gone = [name for name in _UNLISTED if subject.is_set(name)]
    if gone and subject.comes(_UNLISTED_IN):
        yield UpgradeFinding(
            "variable-gone",
            gone[0] if len(gone) == 1 else counted(len(gone), "variable"),
            f"the source of {_UNLISTED_IN} does not list it; it is not known which release dropped"
            " it",
            "after the upgrade, check whether RUNTIME still has it; if not, remove it from the"
            " files",
            tuple(map(subject.setting, gone)),
        )


def _of_variable(subject: UpgradeSubject, variable: Variable) -> Iterator[UpgradeFinding]:
    name, to = variable.name, subject.to
    if not variable.exists_in(to):
        if subject.is_set(name):
            yield UpgradeFinding(
                "variable-gone",
                name,
                f"ProxySQL {to} has no such variable: its row stays on DISK, without effect",
                "decide whether you can do without it, and remove it from the files",
                (subject.setting(name),),
            )
        return
    if name in subject.before.variables:
        if reason := _refused(variable, subject):
            yield UpgradeFinding(
                "variable-refused",
                name,
                f"the value is invalid in ProxySQL {to}: {reason}",
                "set a value that both releases accept",
                (subject.setting(name),),
            )
        return
    old, new = variable.default_in(subject.version), variable.default_in(to)
    if old != new and old is not None and new is not None:
        yield UpgradeFinding(
            "default-changed",
            name,
            f"the default changes from {shown(old)} to {shown(new)}: a new instance gets the new"
            " default, an upgraded one keeps what is on its DISK",
            f"set it in the files, for example variables: {{{name}: {shown(old)}}}",
            (Reliance(f"{name}, which is not set"),),
        )


def _refused(variable: Variable, subject: UpgradeSubject) -> str | None:
    """Return why the release refuses the value of a variable that the present one accepts."""
    if variable.kind is not VariableKind.INT:
        return None
    number = atoi(subject.before.variables[variable.name])
    reasons = []
    for version in (subject.version, subject.to):
        low, high = bounds(variable, version)
        complaint = number_complaint(variable.name, number, version)
        is_within = low <= number <= high
        reasons.append(
            (complaint.message if complaint else None)
            if is_within
            else f"it accepts {low} to {high}"
        )
    now, then = reasons
    return then if now is None else None


# Listeners ----------------------------------------------------------------------------------------


def _listeners(subject: UpgradeSubject) -> Iterator[UpgradeFinding]:
    """Yield the addresses on which the release listens although nobody set a variable."""
    opening = {
        name: default
        for name in INTERFACES
        if not VARIABLES[name].exists_in(subject.version)
        if VARIABLES[name].exists_in(subject.to)
        if not subject.before.variables.get(name)
        if (default := VARIABLES[name].default_in(subject.to))
    }
    if not opening:
        return
    ports = {default.rpartition(":")[2] for default in opening.values()}
    taken = [
        name
        for name in INTERFACES
        if any(
            entry.rpartition(":")[2] in ports
            for entry in (subject.before.variable(name) or "").split(";")
        )
        if name in subject.before.variables
    ]
    listed = " and ".join(f"{default} ({name})" for name, default in opening.items())
    clash = f"; {' and '.join(taken)} already uses the same port" if taken else ""
    yield UpgradeFinding(
        "listener-opens",
        "PostgreSQL",
        f"ProxySQL {subject.to} also listens on {listed}, on every address of the host{clash}",
        "close the ports in the firewall; or choose addresses on DISK before the upgrade: "
        + "; ".join(
            f"INSERT INTO disk.global_variables VALUES ('{name}',"
            f" '127.0.0.1:{default.rpartition(':')[2]}')"
            for name, default in opening.items()
        ),
        tuple(map(subject.setting, taken)),
    )


# What is new --------------------------------------------------------------------------------------

_MOST_NAMED = 6


def new_variables(version: Version, to: Version) -> tuple[str, ...]:
    """Return the variables that a release has and the present one lacks."""
    return tuple(
        name
        for name, variable in VARIABLES.items()
        if variable.exists_in(to) and not variable.exists_in(version)
    )


def new_variables_text(version: Version, to: Version) -> str:
    """Return the new variables in words, those of PostgreSQL as a number; '' if there are none."""
    names = new_variables(version, to)
    own = [name for name in names if not name.startswith("pgsql-")]
    own.sort(key=lambda name: name.startswith("admin-"))
    named = ", ".join(own[:_MOST_NAMED])
    if len(own) > _MOST_NAMED:
        named += f" and {len(own) - _MOST_NAMED} more"
    pgsql = len(names) - len(own)
    parts = [f"{counted(len(own), 'variable')} ({named})"] if own else []
    parts += [f"{pgsql} PostgreSQL variables"] if pgsql else []
    return " and ".join(parts)
