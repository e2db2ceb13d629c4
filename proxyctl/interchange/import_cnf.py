"""A proxysql.cnf -> the rows and variables that `import` writes, and its remarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from proxyctl.catalog import Version
from proxyctl.catalog.charsets import charset_of, default_collation
from proxyctl.catalog.variable_rules import CHARSET, COLLATION, DIFFS_BY_CHECKSUM
from proxyctl.errors import ConfigError, counted
from proxyctl.interchange.cnf_reader import read_cnf
from proxyctl.interchange.fold import (
    Exported,
    environment_name,
    export_variables,
    leave_out_administrators,
    with_secrets,
)
from proxyctl.interchange.libconfig import WHOLE_FILE, Offset
from proxyctl.interchange.not_a_cnf import explained
from proxyctl.state.row import Row
from proxyctl.state.runtime import ignored_rows


@dataclass(frozen=True)
class Imported:
    """The content of a proxysql.cnf. `stays`: keys that every start of ProxySQL reads from it."""

    exported: Exported
    stays: tuple[str, ...]

    def remarks(self, written: str, *, source: str, out: str) -> Iterator[str]:
        """Yield the last remarks: secrets that are comments, keys that stay, the number of losses.

        `written`: the text for `out`, made from `source`.
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


def import_cnf(
    text: str,
    path: str,
    *,
    version: Version | None,
    secrets: str,
    offset: Offset | None = WHOLE_FILE,
) -> Imported:
    """Return the content of a file, with a warning for everything left out or changed.

    `version`: by default the version that the file names. `secrets`: the form of passwords: `hash`,
    `omit` or `clear`. `offset`: of a text inside of a file; None if its lines are not lines of the
    file. Raises: ConfigError for a file that keeps ProxySQL from starting, and for another file.
    """
    try:
        exported, stays = read_cnf(text, path, version=version, offset=offset or WHOLE_FILE)
    except ConfigError as error:
        raise explained(error, text, offset) from error
    for name, layout in exported.layouts.items():
        rows = exported.tables[name]
        exported.tables[name] = with_secrets(exported, layout, rows, secrets)
        known = {layout.key_of(row): cast(Row, row) for row in rows}
        exported.leave_out(name, ignored_rows(layout, known))
    leave_out_administrators(exported, exported.variables)
    _write_counts_for_checksums(exported)
    _complete_charset_pair(exported)
    variables, exported.variables = exported.variables, {}
    export_variables(exported, variables.items(), secrets, keeps_defaults=True)
    return Imported(exported, tuple(stays))


def _complete_charset_pair(exported: Exported) -> None:
    """Add the collation of a character set, or the reverse, as ProxySQL does when it starts.

    Changes: exported.
    """
    pairs = ((CHARSET, COLLATION, default_collation), (COLLATION, CHARSET, charset_of))
    for known, derived, derive in pairs:
        text = derive(exported.variables[known]) if known in exported.variables else None
        if text is not None and derived not in exported.variables:
            exported.variables[derived] = text
            exported.places["variables", (derived,)] = exported.places["variables", (known,)]


def _write_counts_for_checksums(exported: Exported) -> None:
    """Replace a checksum that is off by its count 0, which ProxySQL then uses.

    Changes: exported.
    """
    for name, count in DIFFS_BY_CHECKSUM.items():
        if exported.variables.get(name) == "false":
            del exported.variables[name]
            exported.variables[count] = "0"
            place = exported.places["variables", (count,)] = exported.places["variables", (name,)]
            text = f"when it is false, ProxySQL uses 0 for {count}; 0 is written instead"
            exported.warnings.append(f"{place}: {name}: {text}")
