"""A file with digests of an instance: a line that says what it holds, then a line a digest.

    {"kind":"proxyctl digests","format":1,"name":...,"taken_at":...,"columns":[...],"count":2}
    [10,"shop","app","","0x3EF2C4DB4D1A4E21","SELECT ?",7,...]
    ...

It is JSON lines, so that a million digests are read and written one after the other. A digest is a
list in the order of `columns`, which are those of stats_mysql_query_digest: a reader takes those it
knows. `count` tells a file that was cut short. Units: `taken_at` in unix seconds of the instance's
clock; the columns as in ProxySQL.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, get_type_hints

from proxyctl import __version__
from proxyctl.errors import ProxyctlError
from proxyctl.replay.seen import DigestTable, SeenDigest

KIND = "proxyctl digests"
FORMAT = 1
_HINT = "make one with: proxyctl replay --save FILE"
_NEEDED = SeenDigest._fields[: -len(SeenDigest._field_defaults)]


def lines(table: DigestTable) -> Iterator[str]:
    """Yield the lines of the file."""
    header = {
        "kind": KIND,
        "format": FORMAT,
        "proxyctl": __version__,
        "name": table.name,
        "address": table.address,
        "version": table.version,
        "taken_at": table.taken_at,
        "variables": dict(sorted(table.variables.items())),
        "columns": list(SeenDigest._fields),
        "count": len(table.rows),
    }
    yield json.dumps(header, ensure_ascii=True) + "\n"
    for row in table.rows:
        yield json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n"


def write_digest_file(table: DigestTable, path: Path) -> None:
    """Write the file whole or not at all; it is for its owner only. Raises: OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(lines(table))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_digest_file(path: Path) -> DigestTable:
    """Return the digests of a file; its rows are read when they are asked for.

    Raises: ProxyctlError when the file is none of these, of another format, or not whole.
    """
    try:
        with path.open("rb") as file:
            header = _header(path, file.readline())
            count = sum(1 for _ in file)
    except OSError as error:
        raise ProxyctlError(f"{path}: {error.strerror}") from error
    if count != header["count"]:
        raise ProxyctlError(
            f"{path}: it should hold {header['count']} digests and has {count} lines", hint=_HINT
        )
    columns = [str(name) for name in header["columns"]]
    variables = {str(name): str(value) for name, value in header["variables"].items()}
    return DigestTable(
        name=str(header["name"]),
        address=str(header["address"]),
        version=str(header["version"]),
        taken_at=int(header["taken_at"]),
        rows=_FileRows(path, columns, count),
        variables=variables,
    )


_KEYS = {
    "name": str,
    "address": str,
    "version": str,
    "taken_at": int,
    "variables": dict,
    "columns": list,
    "count": int,
}


def _header(path: Path, line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ProxyctlError(f"{path}: not a file with digests", hint=_HINT) from error
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise ProxyctlError(f"{path}: not a file with digests", hint=_HINT)
    if header.get("format") != FORMAT:
        raise ProxyctlError(
            f"{path}: digests of format {header.get('format')!r}; this proxyctl {__version__}"
            f" reads format {FORMAT}"
        )
    is_sound = all(type(header.get(key)) is kind for key, kind in _KEYS.items())
    if not is_sound or not set(_NEEDED) <= set(header["columns"]):
        raise ProxyctlError(f"{path}: the first line is damaged", hint=_HINT)
    return header


@dataclass(frozen=True)
class _FileRows:
    path: Path
    columns: list[str]
    count: int

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[SeenDigest]:
        places = [
            (name, self.columns.index(name)) for name in SeenDigest._fields if name in self.columns
        ]
        try:
            with self.path.open("rb") as file:
                file.readline()
                yield from self._parsed(file, places)
        except OSError as error:
            raise ProxyctlError(f"{self.path}: {error.strerror}") from error

    def _parsed(self, file: IO[bytes], places: Iterable[tuple[str, int]]) -> Iterator[SeenDigest]:
        kinds = get_type_hints(SeenDigest)
        for number, line in enumerate(file, 2):
            try:
                cells = json.loads(line)
                values = {name: cells[place] for name, place in places}
            except (ValueError, LookupError, TypeError, RecursionError) as error:
                raise self._damaged(number) from error
            for name, value in values.items():
                if type(value) is not kinds[name]:
                    raise self._damaged(number)
            yield SeenDigest(**values)

    def _damaged(self, number: int) -> ProxyctlError:
        return ProxyctlError(f"{self.path}:{number}: not a digest", hint=_HINT)
