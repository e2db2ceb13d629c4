"""A proxysql.cnf -> what `import` writes of it, and what it says about the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proxyctl.catalog import REFERENCE, Version
from proxyctl.catalog.charsets import charset_of, default_collation
from proxyctl.catalog.variable_rules import CHARSET, COLLATION, DIFFS_BY_CHECKSUM
from proxyctl.catalog.variables import VARIABLES
from proxyctl.errors import counted
from proxyctl.formats.cnf_reader import CnfContent, read_cnf
from proxyctl.state.fold import Exported, environment_name, export_variables, with_secrets
from proxyctl.state.runtime import ignored_rows


@dataclass(frozen=True)
class Imported:
    """What a proxysql.cnf becomes. `stays`: keys that every start of ProxySQL reads from it."""

    exported: Exported
    stays: tuple[str, ...]

    def remarks(self, written: str, *, source: str, out: str) -> Iterator[str]:
        """Yield what to say at the end: which secrets are comments, what stays, how much was lost.

        `written`: the text for `out`, made of `source`.
        """
        exported = self.exported
        lines = written.split("\n")
        if exported.secrets:
            key = "# variables:"
            too = f", also in line {lines.index(key) + 1}" if key in lines else ""
            yield f"secrets are comments in {out}: set the variable, remove the `#`{too}"
        for name in exported.secrets:
            place = exported.places["variables", (name,)]
            start = f"  # {name}: "
            number = next(n for n, line in enumerate(lines, 1) if line.startswith(start))
            yield f"  {place}: {name}: line {number} takes {environment_name(name)}"
        if self.stays:
            stays = ", ".join(self.stays)
            yield f"stays in {source}, where ProxySQL reads it at every start: {stays}"
        if count := len(exported.warnings):
            yield f"import left out or changed {counted(count, 'thing')}: see the warnings above"


def import_cnf(text: str, path: str, *, version: Version | None, secrets: str) -> Imported:
    """Return what a file becomes, with a warning for everything that is left out or changed.

    `version`: by default the one that the file names. `secrets`: how passwords are written: `hash`,
    `omit` or `clear`. Raises: ConfigError for a file with which ProxySQL does not start.
    """
    found = read_cnf(text, path, version=version)
    exported = Exported(
        found.version or REFERENCE,
        warnings=found.notes,
        places=found.places,
        is_for_version=found.version is not None,
    )
    for name, (layout, rows) in found.tables.items():
        exported.layouts[name] = layout
        exported.tables[name] = with_secrets(exported, layout, rows, secrets)
        exported.leave_out(name, ignored_rows(layout, {layout.key_of(row): row for row in rows}))
    leave_out_administrators(exported, found.variables)
    _write_counts_for_checksums(found)
    _complete_charset_pair(found)
    export_variables(exported, found.variables.items(), secrets, keeps_defaults=True)
    return Imported(exported, tuple(found.stays))


def _complete_charset_pair(found: CnfContent) -> None:
    """Add the collation of a character set, or the other way round, as ProxySQL does at its start.

    Changes: found.
    """
    pairs = ((CHARSET, COLLATION, default_collation), (COLLATION, CHARSET, charset_of))
    for given, derived, derive in pairs:
        text = derive(found.variables[given]) if given in found.variables else None
        if text is not None and derived not in found.variables:
            found.variables[derived] = text
            found.places["variables", (derived,)] = found.places["variables", (given,)]


def _write_counts_for_checksums(found: CnfContent) -> None:
    """Put the count that ProxySQL then takes for 0 in the place of a checksum that is off.

    Changes: found.
    """
    for name, count in DIFFS_BY_CHECKSUM.items():
        if found.variables.get(name) == "false":
            del found.variables[name]
            found.variables[count] = "0"
            place = found.places["variables", (count,)] = found.places["variables", (name,)]
            text = f"when it is false, ProxySQL uses 0 for {count}; 0 is written instead"
            found.notes.append(f"{place}: {name}: {text}")


def leave_out_administrators(exported: Exported, variables: Mapping[str, str]) -> None:
    """Leave out users who have the name of an administrator. Changes: exported.

    `variables`: those that may name other administrators than a fresh ProxySQL has.
    """
    layout = exported.layouts.get("mysql_users")
    if layout is None:
        return
    logins: set[str] = set()
    for name in ("admin-admin_credentials", "admin-stats_credentials"):
        credentials = variables.get(name) or VARIABLES[name].default or ""
        logins |= {entry.partition(":")[0] for entry in credentials.split(";")}
    reason = (
        "an administrator has this name too, and ProxySQL keeps only one of them: rename the user"
    )
    keys = map(layout.key_of, exported.tables["mysql_users"])
    exported.leave_out("mysql_users", {key: reason for key in keys if str(key[0]) in logins})
