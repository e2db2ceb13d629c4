"""`import`: a proxysql.cnf as our files."""

from __future__ import annotations

from errno import EINVAL
from pathlib import Path
from typing import TYPE_CHECKING

from proxyctl.cli.output import say
from proxyctl.errors import ProxyctlError, counted
from proxyctl.state.fold import environment_name

if TYPE_CHECKING:
    from collections.abc import Collection

    from proxyctl.catalog import Version
    from proxyctl.cli.exported import Secrets
    from proxyctl.config.files import Fence
    from proxyctl.formats.cnf_reader import Imported
    from proxyctl.state.fold import Exported


def imported_cnf(
    cnf: str, version: Version, secrets: Secrets, *, restrict_paths: bool
) -> tuple[Exported, list[str]]:
    """Return what a proxysql.cnf says, with a warning for all that it does not carry over.

    With it come the keys that every start reads from the .cnf.

    Raises: ProxyctlError where it, or what it includes, cannot be read.
    """
    from proxyctl.config.files import Fence, UnreadableError, clear_passwords, exposure
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
    exported = Exported(version, warnings=found.notes, places=found.places)
    for name, (layout, rows) in found.tables.items():
        exported.layouts[name] = layout
        exported.tables[name] = with_secrets(exported, layout, rows, secrets.value)
        exported.leave_out(name, found.left_out.get(name, {}))
        passed_over = ignored_rows(layout, {layout.key_of(row): row for row in rows})
        exported.leave_out(name, passed_over)
    export_variables(exported, found.variables.items(), secrets.value, keeps_defaults=True)
    return exported, found.stays


def say_what_import_did(
    exported: Exported, stays: Collection[str], text: str, cnf: str, out: str | None
) -> None:
    """Say which secrets are comments in the text, what stays in the .cnf, and how much was lost."""
    if exported.secrets:
        say(f"secrets are comments in {out or 'the output'}: set the variable, remove the `#`")
    lines = text.split("\n")
    for name in exported.secrets:
        place = exported.places["variables", (name,)]
        start = f"  # {name}: "
        number = next(n for n, line in enumerate(lines, 1) if line.startswith(start))
        say(f"  {place}: {name}: line {number} takes {environment_name(name)}")
    if stays:
        say(f"stays in {cnf}, where ProxySQL reads it at every start: {', '.join(stays)}")
    count = len(exported.warnings)
    if count:
        say(f"import left out or changed {counted(count, 'thing')}: see the warnings above")


def _as_sections(found: Imported) -> dict[str, object]:
    """Return what an import found, as a file of ours would hold it."""
    tables = {
        name: [dict(zip(layout.names, row, strict=True)) for row in rows]
        for name, (layout, rows) in found.tables.items()
    }
    return {**tables, "variables": found.variables}


def _text_of(path: Path, fence: Fence) -> str:
    """Return the text of a .cnf. Raises: UnreadableError."""
    from proxyctl.config.files import MAX_FILE, read_bytes

    # Seen before it is opened, and then again as it was opened.
    fence.path(str(path.absolute()), "")
    return read_bytes(str(path), limit=MAX_FILE, fence=fence).decode("utf-8", "surrogateescape")
