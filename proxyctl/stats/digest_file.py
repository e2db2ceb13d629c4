"""A file with digests of an instance: a line that says what it holds, then a line a digest.

    {"kind":"proxyctl digests","format":1,"name":...,"taken_at":...,"columns":[...],"count":2}
    [10,"shop","app","","0x3EF2C4DB4D1A4E21","SELECT ?",7,...]
    ...

It is JSON lines, so that a million digests are read and written one after the other; plain, or
compressed with gzip, which its first bytes tell. A digest is a list in the order of `columns`,
which are those of stats_mysql_query_digest. `count` tells a file that was cut short. Units:
`taken_at` in unix seconds of the instance's clock, `uptime`, which may be missing, in seconds; the
columns as in ProxySQL.
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
from proxyctl.errors import ProxyctlError, os_reason
from proxyctl.stats.model import LARGEST, DigestTable, Rows, SeenDigest

KIND = "proxyctl digests"
FORMAT = 1
_FIX = "make one with: proxyctl digest snapshot -o FILE"
_COLUMNS = SeenDigest._fields
_GZIP = b"\x1f\x8b"
_LEVEL = 1
"""The lowest: a third larger than the default, and many times as fast."""
_LONGEST_HEADER = 1 << 20
_LONGEST_LINE = 1 << 24
"""A text of 1 MB, the most that ProxySQL keeps, may be six times as long in JSON; and a small
compressed file can hold a line that fills the memory."""
_BATCH = 1_000


def write_digest_file(
    table: DigestTable,
    path: Path,
    *,
    is_compressed: bool = False,
    progress: Callable[[int], None] = lambda _done: None,
) -> int:
    """Write the file whole or not at all; it is for its owner only. Return its size in bytes.

    Rows are taken one after the other, and not kept. `progress`: called with the number of rows
    that are written. Raises: OSError, and what the rows raise.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as raw:
            if is_compressed:
                # Neither name nor time: the same digests give the same bytes.
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
        # Nobody could read the file: that is better said now than when it is needed.
        raise ProxyctlError(f"digest {row.digest} cannot be saved: impossible numbers {row[6:]}")
    try:
        return orjson.dumps(tuple(row), option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        # Bytes that are not UTF-8 are surrogate escapes, which JSON holds as \\udcXX.
        return json.dumps(row, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def read_digest_file(path: Path, option: str = "") -> DigestTable:
    """Return the digests of a file; its rows are read when they are asked for.

    `option`: the one that names the file. Raises: ProxyctlError when the file is none of these or
    of another format; its rows raise it where they are damaged or not all there.
    """
    header = _read_header(path, option)
    return DigestTable(
        name=header["name"],
        address=header["address"],
        version=header["version"],
        taken_at=header["taken_at"],
        rows=Rows(header["count"], partial(_file_rows, path, header["count"])),
        variables={str(name): str(value) for name, value in header["variables"].items()},
        uptime=header.get("uptime"),
    )


@contextmanager
def _opened(path: Path, option: str = "") -> Iterator[IO[bytes]]:
    """Open a plain or a compressed file. Raises: ProxyctlError, also for what goes on inside."""
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
        raise ProxyctlError(f"{path}: the file was cut short", fix=_FIX) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ProxyctlError(f"{path}: the compressed file is damaged", fix=_FIX) from error
    except OSError as error:
        from proxyctl.config.files import unreadable_file

        raise unreadable_file(str(path), os_reason(error), option=option, fix=_FIX) from error


_KEYS = {
    "name": str,
    "address": str,
    "version": str,
    "taken_at": int,
    "uptime": int,
    "variables": dict,
    "count": int,
}
"""What the first line holds; the uptime may be missing."""


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
            found = _digest(line)
            if found is None:
                raise ProxyctlError(f"{path}:{number}: not a digest", fix=_FIX)
            yield found
    if number - 1 != count:
        raise ProxyctlError(
            f"{path}: it should hold {count} digests and has {number - 1} lines", fix=_FIX
        )


def _digest(line: bytes) -> SeenDigest | None:
    """Return the digest of a line; None where it is none."""
    try:
        found = SeenDigest._make(_parsed(line))
    except (ValueError, TypeError, RecursionError):
        return None
    return found if list(map(type, found)) == _KINDS and found.is_possible else None


_KINDS = [get_type_hints(SeenDigest)[name] for name in _COLUMNS]


def _parsed(line: bytes) -> Any:  # noqa: ANN401
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        cells = json.loads(line)  # takes surrogate escapes
        # Other surrogates stand for nothing. Raises UnicodeEncodeError, which is a ValueError.
        json.dumps(cells, ensure_ascii=False).encode("utf-8", "surrogateescape")
        return cells
