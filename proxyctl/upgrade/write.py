"""Set `proxysql_version` in the files: the text of the version changes, and no other byte."""

from __future__ import annotations

import re
from pathlib import Path

from proxyctl.catalog import Version
from proxyctl.config.files import ConfigFiles
from proxyctl.config.sources import read_text
from proxyctl.errors import ProxyctlError, RefusedError, UsageError
from proxyctl.rows.row import Where
from proxyctl.upgrade.subject import UpgradeSubject

_SCALAR = re.compile(r"""(?P<quote>["']?)v?\d+\.\d+\.\d+[-+._\w]*(?P=quote)(?=\s|$)""", re.ASCII)
"""A version as YAML has it at its place."""


def files_for(subject: UpgradeSubject, files: ConfigFiles) -> dict[Path, str]:
    """Return the new texts of the files that name another version.

    Raises: RefusedError for files with mistakes under the release; UsageError if no file names a
    version; ProxyctlError for a place that cannot be changed safely.
    """
    if subject.mistakes:
        raise RefusedError(
            f"the files have mistakes for ProxySQL {subject.to}: proxysql_version was not changed",
            fix="correct the findings files-refused, variable-gone, table-gone and column-gone",
        )
    if not files.version_places:
        raise UsageError(
            "--write: no file names proxysql_version",
            fix=f"add the line `proxysql_version: {subject.to}` to one of them",
        )
    texts = {where: read_text(where.path) for where in files.version_places}
    written = {where: _with_version(where, text, subject.to) for where, text in texts.items()}
    return {Path(where.path): text for where, text in written.items() if text != texts[where]}


def _with_version(where: Where, text: str, to: Version) -> str:
    """Return the text of a file with this version at its place. Raises: ProxyctlError."""
    lines = text.splitlines(keepends=True)
    line = lines[where.line - 1] if 0 < where.line <= len(lines) else ""
    found = _SCALAR.match(line, where.column - 1)
    if found is None or where.path.endswith(".j2"):
        raise ProxyctlError(
            f"{where}: proxysql_version is not written there as a plain version",
            fix=f"write {to} there by hand",
        )
    quote = found["quote"]
    begin, end = found.span()
    lines[where.line - 1] = f"{line[:begin]}{quote}{to}{quote}{line[end:]}"
    return "".join(lines)
