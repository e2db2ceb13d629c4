"""A proxysql.cnf, or a YAML file that holds one -> what `import` writes, and its remarks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from proxyctl.catalog import Version
from proxyctl.catalog.charsets import charset_of, default_collation
from proxyctl.catalog.variable_rules import CHARSET, COLLATION, DIFFS_BY_CHECKSUM
from proxyctl.config.documents import near_file
from proxyctl.config.files import mistakes_in
from proxyctl.config.sources import MAX_FILE, UnreadableError, read_bytes
from proxyctl.config.yaml import read_foreign_yaml
from proxyctl.errors import ConfigError, ProxyctlError, UsageError
from proxyctl.interchange.cnf_reader import CnfContent, read_cnf
from proxyctl.interchange.content import (
    FileContent,
    add_variables,
    environment_name,
    leave_out_administrators,
    with_secrets,
)
from proxyctl.interchange.embedded import EmbeddedFile, embedded_file
from proxyctl.interchange.libconfig import Offset
from proxyctl.interchange.not_a_cnf import (
    CNF,
    holds_cnf,
    looks_like_yaml,
    sections_as_yaml,
    template_in,
)
from proxyctl.interchange.write import WrittenFile, written_file
from proxyctl.proxysql.load_image import ignored_rows
from proxyctl.rows.row import Row
from proxyctl.text import counted


@dataclass(frozen=True)
class ImportedCnf:
    """A proxysql.cnf as a file of this project."""

    path: str
    """The file that was read."""
    cnf: CnfContent
    file: WrittenFile
    beginning: str | None
    """The place where the proxysql.cnf begins in a YAML file around it."""

    def remarks(self, out: str) -> Iterator[str]:
        """Yield the last remarks: secrets commented out, keys that stay, the number of losses.

        `out`: what the user calls the written file.
        """
        content, lines = self.cnf.content, self.file.text.split("\n")
        if content.secrets:
            key = "# variables:"
            too = f", also on line {lines.index(key) + 1}" if key in lines else ""
            yield f"secrets are commented out in {out}: set each variable and remove its `#`{too}"
        for name in content.secrets:
            place = content.places["variables", (name,)]
            start = f"  # {name}: "
            number = next(n for n, line in enumerate(lines, 1) if line.startswith(start))
            yield f"  {place}: {name}: line {number} reads {environment_name(name)}"
        if self.cnf.stays:
            stays = ", ".join(self.cnf.stays)
            yield f"stays in {self.path}, where ProxySQL reads it at every start: {stays}"
        if count := len(self.file.warnings) - len(self.cnf.placeholders):
            yield f"import left out or changed {counted(count, 'thing')}: see the warnings above"


def import_cnf(path: str, *, version: Version | None, secrets: str) -> ImportedCnf:
    """Convert a proxysql.cnf, which may be a text inside of the file.

    `version`: by default the version that the file names. `secrets`: the form of passwords: `hash`,
    `omit` or `clear`. Raises: UsageError, ProxyctlError for a file that cannot be read,
    ConfigError for a file that keeps ProxySQL from starting, and for another file.
    """
    if path.endswith(".sql"):
        raise UsageError(
            f"{path}: import reads a proxysql.cnf, not SQL",
            fix="run the script on a ProxySQL, or on `proxyctl sandbox`, and then export that",
        )
    try:
        text = read_bytes(path, limit=MAX_FILE).decode("utf-8", "surrogateescape")
    except UnreadableError as error:
        raise ProxyctlError(f"{path}: {error}", fix=error.fix or near_file(path)) from error
    beginning = None
    try:
        cnf = read_cnf(text, path, version=version)
    except ConfigError:
        if not looks_like_yaml(text, path):
            raise
        embedded = _embedded(text, path)
        place, offset = f"{path} (text at line {embedded.line})", None
        if embedded.is_literal:
            place, offset = path, Offset(embedded.line - 1, embedded.indent)
        cnf = read_cnf(embedded.text, place, version=version, offset=offset)
        beginning = f"{path}:{embedded.line}:{embedded.column}"
    content = cnf.content
    content.warnings += cnf.placeholders
    _complete(content, secrets)
    file = written_file(
        content, "yaml", secrets, check=lambda text: mistakes_in(text, content.version)
    )
    return ImportedCnf(path, cnf, file, beginning)


def _embedded(text: str, path: str) -> EmbeddedFile:
    """Return the proxysql.cnf inside of a YAML file. Raises: ConfigError."""
    try:
        documents = read_foreign_yaml(text, path)
    except ConfigError as error:
        answer = template_in(text, path)
        raise ConfigError([answer]) if answer is not None else error from error
    for document in documents:
        answer = sections_as_yaml(document.root, path)
        if answer is not None:
            raise ConfigError([answer])
    return embedded_file(documents, text, holds_cnf, name=CNF)


def _complete(content: FileContent, secrets: str) -> None:
    """Note what ProxySQL ignores, and write variables as files do. Changes: content."""
    for name, layout in content.layouts.items():
        rows = content.tables[name]
        content.tables[name] = with_secrets(content, layout, rows, secrets)
        known = {layout.key_of(row): cast(Row, row) for row in rows}
        content.leave_out(name, ignored_rows(layout, known))
    leave_out_administrators(content, content.variables)
    _write_counts_for_checksums(content)
    _complete_charset_pair(content)
    variables, content.variables = content.variables, {}
    add_variables(content, variables.items(), secrets, keeps_defaults=True)


def _complete_charset_pair(content: FileContent) -> None:
    """Add the collation of a character set, or the reverse, as ProxySQL does when it starts.

    Changes: content.
    """
    pairs = ((CHARSET, COLLATION, default_collation), (COLLATION, CHARSET, charset_of))
    for known, derived, derive in pairs:
        text = derive(content.variables[known]) if known in content.variables else None
        if text is not None and derived not in content.variables:
            content.variables[derived] = text
            content.places["variables", (derived,)] = content.places["variables", (known,)]


def _write_counts_for_checksums(content: FileContent) -> None:
    """Replace a checksum that is off by its count 0, which ProxySQL then uses.

    Changes: content.
    """
    for name, count in DIFFS_BY_CHECKSUM.items():
        if content.variables.get(name) == "false":
            del content.variables[name]
            content.variables[count] = "0"
            place = content.places["variables", (count,)] = content.places["variables", (name,)]
            text = f"when it is false, ProxySQL uses 0 for {count}; 0 is written instead"
            content.warnings.append(f"{place}: {name}: {text}")
