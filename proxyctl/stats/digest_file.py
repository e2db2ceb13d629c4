"""A file of an instance's digests: a header line, then one line per digest.

    {"kind":"proxyctl digests","format":1,"name":...,"taken_at":...,"columns":[...],"count":2}
    [10,"shop","app","","0x3EF2C4DB4D1A4E21","SELECT ?",7,...]
    ...

The format is JSON lines, so that a million digests can be read and written one by one. The file is
plain or compressed with gzip; its first bytes show which. Each digest is a list in the order of
`columns`, the columns of stats_mysql_query_digest. `count` reveals a file that was cut short.
Units: `taken_at` in unix seconds of the instance's clock; `uptime`, which may be missing, in
seconds; the columns as in ProxySQL.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast, get_type_hints

import orjson

from proxyctl import __version__
from proxyctl.errors import ProxyctlError
from proxyctl.stats.model import LARGEST, DigestRows, DigestTable, SeenDigest
from proxyctl.text import os_fix, os_reason

KIND = "proxyctl digests"
FORMAT = 1
_FIX = "make one with: proxyctl digest snapshot -o FILE"
_COLUMNS = SeenDigest._fields
_GZIP = b"\x1f\x8b"
_LEVEL = 1
"""The lowest level: a file a third larger than by default, written many times as fast."""
_LONGEST_HEADER = 1 << 20
_LONGEST_LINE = 1 << 24
"""ProxySQL keeps digest texts of up to 1 MB, which can be six times as long in JSON. A limit is
needed: a small compressed file can hold a line that fills the memory."""
_BATCH = 1_000


def write_digest_file(
    table: DigestTable,
    path: Path,
    *,
    is_compressed: bool = False,
    progress: Callable[[int], None] = lambda _done: None,
) -> int:
    """Write the file completely or not at all, readable by its owner only; return its bytes.

    Rows are read one by one and not kept. `progress`: called with the number of rows written.
    Raises: ProxyctlError when it cannot be written, and what reading the rows raises.
    """
    try:
        return _write(table, path, is_compressed=is_compressed, progress=progress)
    except OSError as error:
        raise ProxyctlError(f"{path}: cannot be written: {os_reason(error)}") from error


def _write(
    table: DigestTable, path: Path, *, is_compressed: bool, progress: Callable[[int], None]
) -> int:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            if is_compressed:
                # No name and no time, so that the same digests give the same bytes.
                with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
                    packed.writelines(_chunks(table, progress))
            else:
                raw.writelines(_chunks(table, progress))
        size = Path(name).stat().st_size
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return size


def _chunks(table: DigestTable, progress: Callable[[int], None]) -> Iterator[bytes]:
    header: dict[str, object] = {
        "kind": KIND,
        "format": FORMAT,
        "proxyctl": __version__,
        "name": table.name,
        "address": table.address,
        "version": table.version,
        "taken_at": table.taken_at,
        "variables": dict(sorted(table.variables.items())),
        "columns": list(_COLUMNS),
        "count": len(table.rows),
    }
    if table.uptime is not None:
        header["uptime"] = table.uptime
    yield json.dumps(header, ensure_ascii=True).encode() + b"\n"
    rows = iter(table.rows)
    done = 0
    while batch := list(islice(rows, _BATCH)):
        yield b"".join(map(_line, batch))
        done += len(batch)
        progress(done)


def _line(row: SeenDigest) -> bytes:
    if not row.is_possible:
        # read_digest_file would refuse this file, so refuse now and not when the file is needed.
        raise ProxyctlError(f"digest {row.digest} cannot be saved: impossible numbers {row[6:]}")
    try:
        return orjson.dumps(tuple(row), option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Bytes that are not UTF-8 are surrogate escapes, which JSON writes as \\udcXX.
        return json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def read_digest_file(path: Path, option: str = "") -> DigestTable:
    """Return the digests of a file; iterating over the rows reads them.

    `option`: the command line option that names the file. Raises: ProxyctlError when the file holds
    no digests or has another format; the rows raise it when they are damaged or incomplete.
    """
    header = _read_header(path, option)
    return DigestTable(
        name=header["name"],
        address=header["address"],
        version=header["version"],
        taken_at=header["taken_at"],
        rows=DigestRows(header["count"], partial(_file_rows, path, header["count"])),
        variables={str(name): str(value) for name, value in header["variables"].items()},
        uptime=header.get("uptime"),
    )


def read_digest_folder(folder: Path) -> dict[str, DigestTable]:
    """Return the digests of a folder of `digest snapshot --all`, by the name of the instance.

    Raises: ProxyctlError when the folder holds no files, another file than one with digests, or two
    of one instance.
    """
    fix = "make one with: proxyctl digest snapshot --all -o FOLDER"
    if folder.is_file():
        raise ProxyctlError(f"{folder}: a file; with --all this must be a folder", fix=fix)
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise ProxyctlError(f"{folder}: {os_reason(error)}", fix=fix) from error
    if not paths:
        raise ProxyctlError(f"{folder}: no files with digests", fix=fix)
    tables: dict[str, DigestTable] = {}
    for path in paths:
        table = read_digest_file(path)
        if table.name in tables:
            raise ProxyctlError(
                f"{path}: another file in {folder} also has the digests of {table.name}",
                fix="keep one of them",
            )
        tables[table.name] = table
    return tables


@contextmanager
def _opened(path: Path, option: str = "") -> Iterator[IO[bytes]]:
    """Open a plain or compressed file. Raises: ProxyctlError, also for errors in the with block."""
    try:
        with path.open("rb") as raw:
            start = raw.read(len(_GZIP))
            raw.seek(0)
            if start != _GZIP:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
                yield cast(IO[bytes], unpacked)
    except EOFError as error:
        raise ProxyctlError(f"{path}: the file is truncated", fix=_FIX) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ProxyctlError(f"{path}: the compressed file is damaged", fix=_FIX) from error
    except OSError as error:
        from proxyctl.config.documents import unreadable_file

        raise unreadable_file(
            str(path), os_reason(error), fix=os_fix(error), option=option, if_missing=_FIX
        ) from error


_KEYS = {
    "name": str,
    "address": str,
    "version": str,
    "taken_at": int,
    "uptime": int,
    "variables": dict,
    "count": int,
}
"""The keys of the header line; `uptime` may be missing."""


def _read_header(path: Path, option: str) -> dict[str, Any]:
    with _opened(path, option) as file:
        line = file.readline(_LONGEST_HEADER)
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise ProxyctlError(f"{path}: not a file with digests", fix=_FIX)
    if header.get("format") != FORMAT:
        raise ProxyctlError(
            f"{path}: digests of format {header.get('format')!r}; this proxyctl {__version__}"
            f" reads format {FORMAT}"
        )
    values = {"uptime": 0, **header}
    if header.get("columns") != list(_COLUMNS) or not all(
        type(values.get(key)) is kind and (kind is not int or 0 <= values[key] <= LARGEST)
        for key, kind in _KEYS.items()
    ):
        raise ProxyctlError(f"{path}: the first line is damaged", fix=_FIX)
    return header


def _file_rows(path: Path, count: int) -> Iterator[SeenDigest]:
    with _opened(path) as file:
        file.readline()
        number = 1
        for number, line in enumerate(iter(partial(file.readline, _LONGEST_LINE), b""), 2):
            digest = _digest(line)
            if digest is None:
                raise ProxyctlError(f"{path}:{number}: not a digest", fix=_FIX)
            yield digest
    if number - 1 != count:
        raise ProxyctlError(
            f"{path}: it should contain {count} digests but has {number - 1} lines", fix=_FIX
        )


def _digest(line: bytes) -> SeenDigest | None:
    """Return the digest of a line, or None if the line holds no digest."""
    try:
        digest = SeenDigest._make(_parsed(line))
    except (ValueError, TypeError, RecursionError):
        return None
    return digest if list(map(type, digest)) == _TYPES and digest.is_possible else None


_TYPES = [get_type_hints(SeenDigest)[name] for name in _COLUMNS]


def _parsed(line: bytes) -> Any:  # noqa: ANN401
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        cells = json.loads(line)  # accepts surrogate escapes
        # Other surrogates are invalid. Raises UnicodeEncodeError, which is a ValueError.
        json.dumps(cells, ensure_ascii=False).encode("utf-8", "surrogateescape")
        return cells
