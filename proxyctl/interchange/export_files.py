"""The rows that the files compile to -> what `render` writes."""

from __future__ import annotations

from proxyctl.catalog import Version
from proxyctl.config.files import ConfigFiles
from proxyctl.interchange.content import (
    FileContent,
    add_variables,
    with_secrets,
    without_references,
)
from proxyctl.interchange.write import WrittenFile, written_file
from proxyctl.rows.row import sorted_keys


def export_files(
    files: ConfigFiles, form: str, secrets: str, *, version: Version | None = None
) -> WrittenFile:
    """Return the rows that the files compile to, in the form `yaml`, `sql` or `cnf`.

    `secrets`: the form of passwords: `hash`, `omit` or `clear`. `version`: by default as
    `ConfigFiles.project` chooses. Raises: ConfigError; ProxyctlError for a pattern of `manage` that
    SQL cannot express.
    """
    desired = files.project(version).desired
    is_for_version = (version or files.version) is not None
    content = FileContent(desired.version, is_for_version=is_for_version)
    for name, table in desired.tables.items():
        layout = content.layouts[name] = table.layout
        if layout.table.prefix is not None:
            variables = table.rows.values()
            add_variables(content, variables, secrets, keeps_defaults=True, keeps_local=True)
            continue
        rows = [table.rows[key] for key in sorted_keys(table.rows)]
        if secrets != "clear":
            rows = without_references(content, layout, rows)
        content.tables[name] = with_secrets(content, layout, rows, secrets)
    return written_file(content, form, secrets, owned=desired.tables)
