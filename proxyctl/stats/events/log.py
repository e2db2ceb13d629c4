"""Reads files of ProxySQL's query event log in JSON (mysql-eventslog_format=2).

A line is an event, in UTF-8: ProxySQL replaces bytes of a query that are not. Files are read as a
stream, plain or compressed with gzip: the first bytes show which. Nothing is guessed: whatever is
no event is an error, except an unfinished last line, since ProxySQL may be writing it.
"""

from __future__ import annotations

import gzip
import os
import shlex
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from operator import itemgetter
from typing import IO, Any, cast

import orjson

from proxyctl.config.documents import unreadable_file
from proxyctl.errors import ProxyctlError, UsageError
from proxyctl.stats.events.event import (
    EXECUTE,
    PGSQL_PREFIX,
    PREPARE,
    QUERY,
    EventTally,
    QueryEvent,
)
from proxyctl.stats.model import LARGEST
from proxyctl.text import os_fix, os_reason

OPTION = "--events"
STDIN = "-"
_GZIP = b"\x1f\x8b"
_HEADER = b"\x12"
"""The type of the record that a binary log of 3.0 begins with."""
_MOST_HEADER = 256
_BUFFER = 1 << 18
_LONGEST_LINE = 1 << 27
"""Twice the largest mysql-max_allowed_packet by default. Units: bytes."""
_EXECUTED = frozenset({QUERY, EXECUTE})
_COMPLETE = "copy the file again, or read what is left of it: gzip -dc FILE | proxyctl ... {} -"
_JSON_FIX = (
    "set mysql-eventslog_format to 2 and LOAD MYSQL VARIABLES TO RUNTIME: ProxySQL then starts a"
    " new file, which proxyctl reads"
)


def read_files(
    paths: Sequence[str], tally: EventTally, *, stdin: IO[bytes] | None = None
) -> Iterator[QueryEvent]:
    """Yield the executed queries of the files, in their order.

    `-` in `paths` is `stdin`. Changes: tally. Raises: UsageError for a file that is named twice;
    ProxyctlError for a file that cannot be read, and for a line that is no event.
    """
    _refuse_twice(paths)
    for path in paths:
        with opened(path, stdin=stdin) as file:
            yield from read_lines(lines_of(file), path, tally)


def begins_log(line: bytes) -> bool:
    """Return whether the first line of a file is an event, and not a query in other JSON."""
    try:
        cells = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(cells, dict) and "query" in cells and "digest" in cells


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the lines of an open file, in parts of at most _LONGEST_LINE bytes."""
    return iter(partial(file.readline, _LONGEST_LINE), b"")


def _refuse_twice(paths: Sequence[str]) -> None:
    seen: set[object] = set()
    for path in paths:
        try:
            status = os.stat(path)
            file: object = (status.st_dev, status.st_ino)
        except OSError:
            file = path  # `-`, or a file that is missing, which reading it says
        if file in seen:
            raise UsageError(f"{OPTION} {path}: the same file twice would count its events twice")
        seen.add(file)


@contextmanager
def opened(
    path: str, option: str = OPTION, *, stdin: IO[bytes] | None = None
) -> Iterator[IO[bytes]]:
    """Open a log, plain or compressed, and check that it is not in the binary format.

    Raises: ProxyctlError, also for errors in the with block.
    """
    fix = _COMPLETE.format(option)
    try:
        with _raw(path, stdin) as raw:
            if not raw.peek(len(_GZIP)).startswith(_GZIP):
                yield _json_part(raw, path)
                return
            with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
                yield _json_part(BufferedReader(cast(Any, unpacked), _BUFFER), path)
    except EOFError as error:
        raise ProxyctlError(f"{path}: the compressed file is truncated", fix=fix) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise ProxyctlError(f"{path}: the compressed file is damaged", fix=fix) from error
    except OSError as error:
        raise unreadable_file(path, os_reason(error), fix=os_fix(error), option=option) from error


@contextmanager
def _raw(path: str, stdin: IO[bytes] | None) -> Iterator[BufferedReader]:
    if path == STDIN and stdin is not None:
        yield cast(BufferedReader, stdin)
        return
    with open(path, "rb", buffering=_BUFFER) as file:
        yield cast(BufferedReader, file)


def _json_part(file: BufferedReader, path: str) -> BufferedReader:
    """Return the file after a binary header, if it has one. Raises: ProxyctlError.

    ProxySQL 3.0.3 begins a JSON log with the header of the binary format after PROXYSQL FLUSH LOGS
    and after a change of mysql-eventslog_format. Source: run. The length in a header is one too
    large.
    """
    start = file.peek(_MOST_HEADER)[:_MOST_HEADER]
    if b"\0" not in start[:8]:
        return file
    end = 8 + int.from_bytes(start[:8], "little") - 1
    if start[8:9] == _HEADER and (start[end : end + 1] == b"{" or len(start) == end):
        file.read(end)
        return file
    raise ProxyctlError(
        f"{path}: an event log in the binary format (mysql-eventslog_format=1), which proxyctl does"
        " not read",
        fix=_JSON_FIX,
    )


def read_lines(lines: Iterable[bytes], path: str, tally: EventTally) -> Iterator[QueryEvent]:
    """Yield the executed queries of one file. Changes: tally. Raises: ProxyctlError."""
    number = executed = without_errno = 0
    try:
        for number, line in enumerate(lines, 1):
            try:
                cells = orjson.loads(line)
                if cells["event"] not in _EXECUTED:
                    _count_other(cells["event"], tally)
                    continue
                query = _query(cells)
            except _NO_EVENT as error:
                if _is_unfinished(line):
                    tally.remarks.append(
                        f"{path}:{number}: the last line is unfinished and not counted; ProxySQL"
                        " may be writing it"
                    )
                    return
                raise _no_event(path, number, line) from error
            executed += 1
            if query.errno is None:
                without_errno += 1
            yield query
    finally:
        tally.executed += executed
        tally.without_errno += without_errno
    if not number:
        tally.remarks.append(f"{path}: the file is empty")


def _count_other(event: str, tally: EventTally) -> None:
    """Count an event that executes nothing, or is not of MySQL. Changes: tally.

    Raises: ValueError for an unknown event.
    """
    if event == PREPARE:
        tally.prepared += 1
    elif event.startswith(PGSQL_PREFIX):
        tally.pgsql += 1
    else:
        raise ValueError(event)


_values = itemgetter(
    *("digest", "hostgroup_id", "schemaname", "username", "client", "query", "event"),
    *("duration_us", "endtime_timestamp_us", "rows_sent"),
)


def _query(cells: dict[str, Any]) -> QueryEvent:
    """Return the event of a line. Raises: one of _NO_EVENT.

    It is called for every event of large files: `tuple.__new__` takes a third of the time of
    `QueryEvent(...)`, and a chain of comparisons half of that of a loop.
    """
    values = _values(cells)
    digest, hostgroup, schema, user, client, query, _, duration, ended_at, sent = values
    affected, errno = cells.get("rows_affected", 0), cells.get("errno")
    if not (
        type(duration) is type(ended_at) is type(sent) is type(affected) is type(hostgroup) is int
        and type(digest) is type(schema) is type(user) is type(client) is type(query) is str
        and (errno is None or type(errno) is int)
        and 0 <= duration <= LARGEST
    ):
        raise TypeError("a value of the wrong type")
    return tuple.__new__(QueryEvent, (*values, affected, errno))


_NO_EVENT = (ValueError, KeyError, TypeError, AttributeError)


def _is_unfinished(line: bytes) -> bool:
    """Return whether a line that is no event may be the beginning of one."""
    return line.startswith(b"{") and not line.endswith(b"\n") and len(line) < _LONGEST_LINE


def _no_event(path: str, number: int, line: bytes) -> ProxyctlError:
    if len(line) == _LONGEST_LINE:
        return ProxyctlError(f"{path}:{number}: longer than {_LONGEST_LINE >> 20} MB")
    if number == 1:
        return ProxyctlError(
            f"{path}: not a query event log in JSON: line 1 is not an event",
            fix=f"leave out the first line if the beginning of the file is missing; or {_JSON_FIX}",
        )
    return ProxyctlError(
        f"{path}:{number}: not an event of the query event log",
        fix=f"{_look_at(path, number)}remove the line if it is damaged",
    )


def _look_at(path: str, number: int) -> str:
    """Return the command that shows a line; '' for stdin, which is read."""
    if path == STDIN:
        return ""
    name = shlex.quote(path)
    if path.endswith(".gz"):
        return f"show it with: gzip -dc {name} | sed -n {number}p; "
    return f"show it with: sed -n {number}p {name}; "
