"""`import`: a proxysql.cnf as our files."""

from __future__ import annotations

from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.output import say
from proxyctl.errors import ProxyctlError

if TYPE_CHECKING:
    from proxyctl.catalog import Version
    from proxyctl.cli.exported import Secrets
    from proxyctl.config.fenced import Fence
    from proxyctl.formats.cnf_reader import Imported
    from proxyctl.state.fold import Exported


def imported_cnf(cnf: str, version: Version, secrets: Secrets, *, restrict_paths: bool) -> Exported:
    """Return what a proxysql.cnf says, with a warning for all that it does not carry over.

    Raises: ProxyctlError where it, or what it includes, cannot be read.
    """
    from proxyctl.config.exposure import clear_passwords, exposure
    from proxyctl.config.fenced import Fence, UnreadableError
    from proxyctl.formats.cnf_reader import read_cnf
    from proxyctl.state.fold import Exported, export_variables, with_secrets
    from proxyctl.state.runtime import ignored_rows

    path = Path(cnf)
    fence = Fence.around_path(cnf, "folder of FILE.cnf") if restrict_paths else Fence()

    def included(name: str) -> str:
        try:
            return _text_of(path.parent / name, fence)
        except UnreadableError as error:
            raise OSError(EINVAL, error.message) from error

    try:
        text = _text_of(path, fence)
    except UnreadableError as error:
        raise ProxyctlError(f"{path}: {error}", hint=error.hint) from error
    found = read_cnf(text, cnf, version=version, include=included)
    if any(clear_passwords(_as_sections(found))) and (exposed := exposure(cnf)):
        say(f"warning: {exposed}")
    exported = Exported(
        version,
        warnings=[str(note) for note in found.notes],
        places={row: f"{place[0]}:{place[1]}" for row, place in found.places.items()},
    )
    for name, (layout, rows) in found.tables.items():
        exported.layouts[name] = layout
        exported.tables[name] = with_secrets(exported, layout, rows, secrets.value)
        passed_over = ignored_rows(layout, {layout.key_of(row): row for row in rows})
        exported.leave_out(name, passed_over, runs=False)
    export_variables(exported, found.variables.items(), secrets.value)
    return exported


def _as_sections(found: Imported) -> dict[str, object]:
    """Return what an import found, as a file of ours would hold it."""
    tables = {
        name: [dict(zip(layout.names, row, strict=True)) for row in rows]
        for name, (layout, rows) in found.tables.items()
    }
    return {**tables, "variables": found.variables}


def _text_of(path: Path, fence: Fence) -> str:
    """Return the text of a .cnf. Raises: UnreadableError."""
    from proxyctl.config.fenced import MAX_FILE, read_bytes

    # Seen before it is opened, and then again as it was opened.
    fence.path(str(path.absolute()), "")
    return read_bytes(str(path), limit=MAX_FILE, fence=fence).decode("utf-8", "surrogateescape")
